import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type RedisServer, startRedis } from '../scripts/servers/redis.ts'
import type { Bench, Context } from './context.ts'
import { installPeers, peerVersions } from './peers.ts'
import { targetsOf, WORKLOADS } from './quorum/targets.ts'
import type { Result } from './result.ts'

export const QUORUM_PROGRAM = new URL('./programs/quorum.ts', import.meta.url)

const SERVERS = 5
const NOTES: readonly string[] = [
  'Every library with the waits and limits that it comes with, over ioredis clients that give a command 200 ms; a lock lives 10 s.',
  'One process; all warm up with 100 keys at once, and for twelve rounds; rounds of all in turn, each ratio within the same round, the middle of all rounds.',
  'Bare votes are no lock: the shortest scripts that leave a token, in as many messages as ours, and nothing is renewed, retried or taken back.',
]
const PARTS = Object.keys(WORKLOADS)

/** Five independent servers beside the libraries that count votes: all well, one stopped, one killed. */
async function run({ bundle, size, only, progress }: Context): Promise<Result> {
  if (only?.some((part) => !PARTS.includes(part))) throw new Error(`--only knows ${PARTS.join(', ')} here`)
  if (size === 'full') installPeers(progress)
  const servers = await Promise.all(Array.from({ length: 2 * SERVERS }, () => startRedis()))
  try {
    progress('quorum: five servers, and five of which one will fail')
    const [well, ill] = [servers.slice(0, SERVERS), servers.slice(SERVERS)].map(addressed)
    const { stdout } = await promisify(execFile)(process.execPath, [
      bundle.path(QUORUM_PROGRAM),
      JSON.stringify({ size, parts: only ?? PARTS, well, ill }),
    ])
    const versions = size === 'full' ? peerVersions() : {}
    return { ...(JSON.parse(stdout) as Result), notes: NOTES, versions }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

function addressed(servers: readonly RedisServer[]) {
  return { urls: servers.map(({ url }) => url), pids: servers.map(({ pid }) => pid) }
}

export const QUORUM: Bench = { run, judge: targetsOf }
