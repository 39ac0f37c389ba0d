import { setTimeout as sleep } from 'node:timers/promises'
import type { Run } from './part.ts'

/** So seldom that it is no load of its own. */
const PAUSE_MS = 10

/** How long a lock and its release took since it was asked last, on a key that nobody else wants; one that is under way counts, too. */
export async function innocent(run: Run): Promise<void> {
  const { locks, close } = await run.open(1)
  const key = `${run.order.prefix}innocent`
  let tookMs: number[] = []
  let askedAtMs: number | null = null
  let ended = false
  process.on('message', () => {
    const underWay = askedAtMs === null ? [] : [performance.now() - askedAtMs]
    process.send?.([...tookMs, ...underWay])
    tookMs = []
  })
  process.on('disconnect', () => {
    ended = true
  })
  while (!ended) {
    askedAtMs = performance.now()
    // One that fails has cost the time until then.
    await locks[0]!.using(key, () => {}).catch(() => {})
    tookMs.push(performance.now() - askedAtMs)
    askedAtMs = null
    await sleep(PAUSE_MS)
  }
  await Promise.race([close(), sleep(1000)])
}
