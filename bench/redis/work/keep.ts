import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { nowNs } from '../../now.ts'
import type { Orders, Rested } from '../orders.ts'
import type { Held, RedisSubject } from '../subject.ts'
import { keyOf } from './keys.ts'

const AT_ONCE = 500
const SAMPLE_MS = 10
const NANOSECONDS_PER_MS = 1e6

/** The keys that this process keeps. */
let kept: Held[] = []

export async function take(subject: RedisSubject, order: Orders['take']['order']): Promise<null> {
  for (let from = 0; from < order.keys; from += AT_ONCE) {
    const part = Array.from({ length: Math.min(AT_ONCE, order.keys - from) }, (_, index) =>
      (subject.hold as NonNullable<RedisSubject['hold']>)(keyOf(order.subject, from + index), order.ttlMs),
    )
    kept.push(...(await Promise.all(part)))
  }
  return null
}

export async function rest({ lastsMs }: Orders['rest']['order']): Promise<Rested> {
  const delay = monitorEventLoopDelay({ resolution: SAMPLE_MS })
  delay.enable()
  const cpu = process.cpuUsage()
  const startedAtMs = performance.now()
  await sleep(lastsMs)
  const tookMs = performance.now() - startedAtMs
  const { user, system } = process.cpuUsage(cpu)
  delay.disable()
  // The monitor's own timer waits for a sample's length before it can be late.
  const late = (ns: number): number => Math.max(0, ns / NANOSECONDS_PER_MS - SAMPLE_MS)
  return {
    cpuMsPerSecond: (user + system) / tookMs,
    delayP99Ms: late(delay.percentile(99)),
    delayMaxMs: late(delay.max),
  }
}

export async function rival(subject: RedisSubject, order: Orders['rival']['order']): Promise<Float64Array> {
  const enters = order.keys.map(async (index) => {
    let enteredNs = Number.NaN
    await subject.run(keyOf(order.subject, index), async () => {
      enteredNs = nowNs()
    })
    return enteredNs
  })
  return Float64Array.from(await Promise.all(enters))
}

export async function letGo(): Promise<Orders['letGo']['answer']> {
  const lost = kept.filter((held) => !held.isHeld()).length
  const atNs = nowNs()
  await Promise.allSettled(kept.map((held) => held.release()))
  kept = []
  return { atNs, lost }
}
