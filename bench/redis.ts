import type { Context } from './context.ts'
import { CATALOGUE } from './redis/catalogue.ts'
import { Session } from './redis/session.ts'
import { HUNDRED, SEQUENTIAL, THOUSAND, uncontended } from './redis/uncontended.ts'
import type { Result } from './result.ts'

export const REDIS_WORKER = new URL('./programs/redis.ts', import.meta.url)

const PARTS: Readonly<Record<string, readonly ((session: Session) => Promise<Result>)[]>> = {
  sequential: [(session) => uncontended(session, SEQUENTIAL)],
  keys: [(session) => uncontended(session, HUNDRED), (session) => uncontended(session, THOUSAND)],
}

export const REDIS_PARTS = Object.keys(PARTS)

/** Redis beside the other libraries and the bare client, all on one server that is there for nothing else. */
export async function benchRedis({ bundle, size, only, profile, progress }: Context): Promise<Result> {
  const parts = only ?? REDIS_PARTS
  const unknown = parts.filter((part) => !Object.hasOwn(PARTS, part))
  if (unknown.length > 0) throw new Error(`--only knows ${REDIS_PARTS.join(', ')}, not ${unknown.join(', ')}`)
  const session = await Session.start({
    program: bundle.path(REDIS_WORKER),
    size,
    subjects: Object.keys(CATALOGUE),
    execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  })
  try {
    const results: Result[] = []
    for (const part of parts) {
      for (const workload of PARTS[part] ?? []) {
        progress(`redis: ${part}`)
        results.push(await workload(session))
        await session.counters.clear()
      }
    }
    return {
      rows: results.flatMap(({ rows }) => rows),
      targets: results.flatMap(({ targets }) => targets),
      overlaps: results.reduce((sum, { overlaps }) => sum + overlaps, 0),
    }
  } finally {
    await session.end()
  }
}
