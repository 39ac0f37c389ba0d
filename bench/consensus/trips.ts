import { setTimeout as sleep } from 'node:timers/promises'
import { nowNs } from '../now.ts'
import type { Orders } from './orders.ts'
import type { Subject } from './subject.ts'

const NANOSECONDS_PER_MS = 1e6
/** So seldom that the probe is no load of its own. */
const PAUSE_MS = 10

/** The time a majority takes to agree on one write while others work. */
export async function runTrips(subject: Subject, { endNs }: Orders['trips']['order']): Promise<Float64Array> {
  const tookMs: number[] = []
  while (nowNs() < endNs) {
    const startNs = nowNs()
    await subject.trip?.()
    tookMs.push((nowNs() - startNs) / NANOSECONDS_PER_MS)
    await sleep(PAUSE_MS)
  }
  return Float64Array.from(tookMs)
}
