import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startRedis } from '../scripts/servers/redis.ts'
import type { Bench, Context } from './context.ts'
import { installPeers, peerVersions } from './peers.ts'
import { targetsOf } from './quorum/targets.ts'
import type { Result } from './result.ts'

export const QUORUM_PROGRAM = new URL('./programs/quorum.ts', import.meta.url)

const SERVERS = 5
const NOTES: readonly string[] = [
  'Every library with the waits and limits that it comes with, over ioredis clients that give a command 200 ms; a lock lives 10 s.',
  'One process; rounds of all in turn, each ratio within the same round, the middle of all rounds.',
]

/** Five independent servers beside the libraries that count votes: all well, one stopped, one killed. */
async function run({ bundle, size, progress }: Context): Promise<Result> {
  if (size === 'full') installPeers(progress)
  const servers = await Promise.all(Array.from({ length: SERVERS }, () => startRedis()))
  try {
    progress('quorum: five servers')
    const order = { size, urls: servers.map(({ url }) => url), pids: servers.map(({ pid }) => pid) }
    const { stdout } = await promisify(execFile)(process.execPath, [
      bundle.path(QUORUM_PROGRAM),
      JSON.stringify(order),
    ])
    const versions = size === 'full' ? peerVersions() : {}
    return { ...(JSON.parse(stdout) as Result), notes: NOTES, versions }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

export const QUORUM: Bench = { run, judge: targetsOf }
