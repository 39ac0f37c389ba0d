import type { Duration, Work } from '../core/api.ts'
import { checkOptions, type NamesOf } from '../core/check.ts'
import { durationMs } from '../core/durations.ts'
import { functionOf, keepMs, keyFor, type RecipeKit, recordsOf, writeUnder } from './kit.ts'

export interface JobOptions {
  /** The job does not run again before this time after its start, however short the work was. */
  atLeast?: Duration
  /** The lease is not renewed beyond this time after the start: its signal fires, and another process may run the job. */
  atMost?: Duration
  /** Time to live of the lease: the delay after a crash of the process. */
  ttl?: Duration
  meta?: unknown
}

const OPTIONS: NamesOf<JobOptions> = { atLeast: true, atMost: true, ttl: true, meta: true }

/** Runs the work on one replica; `skipped` on the others that try while it runs, or within `atLeast` of its start. */
export async function job(
  kit: RecipeKit,
  name: string,
  options: JobOptions,
  work: Work<unknown>,
): Promise<'ran' | 'skipped'> {
  functionOf('work', work)
  const { atLeast, atMost, ttl, meta } = checkOptions('options', options, OPTIONS)
  const atLeastMs = atLeast === undefined ? 0 : keepMs('atLeast', atLeast)
  if (atMost !== undefined)
    durationMs('atMost', atMost, { minMs: Math.max(1, atLeastMs), maxMs: Number.MAX_SAFE_INTEGER })
  const key = keyFor('job', 'name', name)
  const records = atLeastMs === 0 ? null : recordsOf(kit, 'a job with atLeast')
  const lease = await kit.locks.tryAcquire(key, {
    ...(atMost === undefined ? {} : { maxHold: atMost }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(meta === undefined ? {} : { meta }),
  })
  if (lease === null) return 'skipped'
  return kit.workUnder(lease, async () => {
    if (records !== null) {
      if ((await records.read(kit.nameOf(key))) !== null) return 'skipped'
      // Before the work, so that the time counts even if the process dies during it.
      await writeUnder(kit, lease, lease.acquiredAt.toISOString(), atLeastMs)
    }
    await work(lease)
    return 'ran'
  })
}
