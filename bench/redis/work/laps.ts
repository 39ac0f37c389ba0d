import type { Laps, LapsDone } from '../orders.ts'
import type { RedisSubject } from '../subject.ts'
import { keyOf } from './keys.ts'

/** Keys that nobody else wants: what a lock and its release cost, alone or many at once. */
export async function runLaps(subject: RedisSubject, order: Laps): Promise<LapsDone> {
  const { keys, width, leadMs, lastsMs } = order
  let overlaps = 0
  const tasks = Array.from({ length: keys }, (_, index) => {
    const key = keyOf(order.subject, index)
    let inside = 0
    const work = async (): Promise<void> => {
      if (++inside > 1) overlaps++
      await null
      inside--
    }
    return () => subject.run(key, work)
  })
  const lap = async (from: number): Promise<unknown> => {
    if (width === 1) return tasks[from]?.()
    return Promise.all(tasks.slice(from, from + width).map((task) => task()))
  }
  /** Says how many locks were had in how much time. */
  const during = async (ms: number): Promise<{ done: number; tookMs: number }> => {
    const startedAtMs = performance.now()
    let done = 0
    let tookMs = 0
    while (tookMs < ms) {
      await lap(done % keys)
      done += width
      tookMs = performance.now() - startedAtMs
    }
    return { done, tookMs }
  }
  const lead = await during(leadMs)
  const cpu = process.cpuUsage()
  const { done, tookMs } = await during(lastsMs)
  const { user, system } = process.cpuUsage(cpu)
  return { all: lead.done + done, done, tookMs, cpuMicroseconds: user + system, overlaps }
}
