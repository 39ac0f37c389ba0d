import { createLocks, type Locks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { observe } from 'holdfast/observe'
import { opentelemetry } from 'holdfast/opentelemetry'
import { prometheus } from 'holdfast/prometheus'
import { type AnyRedisClient, redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { OPEN_TELEMETRY, type Order, PROMETHEUS, WORKLOADS } from '../metrics/order.ts'

const { url, workload, subject, roundMs } = JSON.parse(process.argv[2] as string) as Order
const { store, fresh } = WORKLOADS[workload] as (typeof WORKLOADS)[string]
const AT_ONCE = 1000

const client = store === 'redis' ? new Redis(url) : null
const locks = createLocks({
  store: client === null ? memory() : redis(client as unknown as AnyRedisClient),
  prefix: `${subject}:`,
})
const registry = new Registry()
if (subject === PROMETHEUS) prometheus(observe(locks), registry)
if (subject === OPEN_TELEMETRY) await opentelemetry(observe(locks))

let made = 0
const keys = Array.from({ length: AT_ONCE }, (_, index) => `order:${index}`)

/** CPU microseconds per lock. */
async function round(): Promise<number> {
  let done = 0
  const startedAtMs = performance.now()
  const cpu = process.cpuUsage()
  do {
    await lap(locks, fresh ? keys.map(() => `order:${made++}`) : keys)
    done += AT_ONCE
  } while (performance.now() - startedAtMs < roundMs)
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / done
}

async function lap(on: Locks, wanted: readonly string[]): Promise<void> {
  await Promise.all(wanted.map((key) => on.using(key, work)))
}

async function work(): Promise<void> {
  await null
}

async function end(): Promise<void> {
  const counted = await registry.metrics()
  if (subject === PROMETHEUS && !/outcome="granted"\} \d{4}/.test(counted))
    throw new Error('nothing was counted')
  await locks.close()
  await client?.quit()
  process.disconnect()
}

process.on('message', (message: 'round' | 'end') => {
  void (message === 'round' ? round().then((microseconds) => process.send?.(microseconds)) : end())
})
