import { setTimeout as sleep } from 'node:timers/promises'
import { nowNs } from '../../now.ts'
import type { Line, LineDone } from '../orders.ts'
import type { RedisSubject } from '../subject.ts'
import { keyOf } from './keys.ts'

/** One key that several want, here and perhaps in other processes. */
export async function runLine(subject: RedisSubject, order: Line): Promise<LineDone> {
  const { waiters, workMs, startNs, endNs } = order
  const key = keyOf(order.subject, 0)
  let failures = 0

  const waiter = async (): Promise<Float64Array> => {
    const visits: number[] = []
    let askNs = nowNs()
    const work = async (): Promise<void> => {
      const enterNs = nowNs()
      await (workMs > 0 ? sleep(workMs) : null)
      visits.push(askNs, enterNs, nowNs())
    }
    while (askNs < endNs) {
      const before = visits.length
      try {
        await subject.run(key, work)
      } catch {
        failures++
        // A refused client asks again: all of its tries are one wait.
        if (visits.length === before && nowNs() < endNs) continue
      }
      askNs = nowNs()
    }
    return Float64Array.from(visits)
  }

  while (nowNs() < startNs) await sleep(1)
  const cpu = process.cpuUsage()
  const visits = await Promise.all(Array.from({ length: waiters }, waiter))
  const { user, system } = process.cpuUsage(cpu)
  return { visits, failures, cpuMicroseconds: user + system }
}
