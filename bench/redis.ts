import type { Bench, Context } from './context.ts'
import type { Machine } from './machine.ts'
import { installPeers, peerVersions } from './peers.ts'
import { plot } from './plot.ts'
import { panelsOf } from './redis/panels.ts'
import { Session } from './redis/session.ts'
import type { Part } from './redis/subject.ts'
import { targetsOf } from './redis/targets.ts'
import { PARTS } from './redis/workloads.ts'
import type { Result } from './result.ts'

export const REDIS_PROGRAMS = [
  new URL('./programs/redis.ts', import.meta.url),
  new URL('./programs/broker.ts', import.meta.url),
] as const

export const REDIS_PARTS = Object.keys(PARTS) as Part[]

/** Redis beside the other libraries and the bare client, all on one server that is there for nothing else. */
async function run({ bundle, size, only, profile, progress }: Context): Promise<Result> {
  const parts = partsOf(only)
  const [program, broker] = REDIS_PROGRAMS
  // To see that everything runs, what is ours is enough.
  if (size === 'full') installPeers(progress)
  const session = await Session.start({
    program: bundle.path(program),
    broker: size === 'full' ? bundle.path(broker) : null,
    size,
    execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  })
  try {
    const measured = []
    for (const part of parts) {
      progress(`redis: ${part}`)
      for (const workload of PARTS[part]) {
        measured.push(await workload(session))
        await session.counters.clear()
      }
    }
    const rows = measured.flatMap((workload) => workload.rows)
    const overlaps = measured.reduce((sum, workload) => sum + workload.overlaps, 0)
    const server = await session.counters.version()
    const versions = { 'redis-server': server, ...(size === 'full' && peerVersions()) }
    return { rows, targets: targetsOf(rows), overlaps, versions }
  } finally {
    await session.end()
  }
}

function partsOf(only: readonly string[] | undefined): readonly Part[] {
  if (only === undefined) return REDIS_PARTS
  const unknown = only.filter((part) => !Object.hasOwn(PARTS, part))
  if (unknown.length > 0) throw new Error(`--only knows ${REDIS_PARTS.join(', ')}, not ${unknown.join(', ')}`)
  return only as Part[]
}

function draw({ rows, versions = {} }: Result, { cpu, cores, node }: Machine): string {
  const where = `Redis ${versions['redis-server']} beside the clients on ${cores} cores (${cpu}), Node ${node}`
  return plot(panelsOf(rows), `${where}: npm run bench -- redis`)
}

export const REDIS: Bench = { run, judge: targetsOf, draw }
