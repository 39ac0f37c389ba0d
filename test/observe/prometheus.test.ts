import { connect, LockTimeoutError, StoreError } from 'holdfast'
import { Collector } from 'holdfast/observe'
import { prometheus } from 'holdfast/prometheus'
import { Registry } from 'prom-client'
import { afterAll, expect, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'

const server = await startRedis()
afterAll(() => server.stop())

/** The value of one line of an exposition. */
function figure(text: string, line: string): number {
  const found = text.split('\n').find((each) => each.startsWith(`${line} `))
  return found === undefined ? Number.NaN : Number(found.slice(line.length + 1))
}

test('events of a real server are in the exposition', async () => {
  const locks = await connect(server.url, { prefix: 'metrics:' })
  const other = await connect(server.url, { prefix: 'metrics:' })
  const collector = new Collector()
  collector.watch(locks)
  const registry = new Registry()
  prometheus({ collector }, registry)
  const before = await registry.metrics()
  await Promise.all(Array.from({ length: 100 }, (_, key) => locks.using(`order:${key}`, async () => {})))
  const taken = await other.acquire('order:1')
  await expect(locks.acquire('order:1', { wait: 20 })).rejects.toThrow(LockTimeoutError)
  expect(await locks.tryAcquire('order:1')).toBeNull()
  await taken.release()
  const held = await locks.acquire('cart:3f2a9c1e')
  const text = await registry.metrics()
  await held.release()
  await other.close()
  await locks.close()

  expect(figure(before, 'holdfast_held')).toBe(0)
  const of = (line: string) => figure(text, line)
  expect(of('holdfast_acquisitions_total{pattern="order:*",outcome="granted"}')).toBe(100)
  expect(of('holdfast_acquisitions_total{pattern="order:*",outcome="timeout"}')).toBe(1)
  expect(of('holdfast_acquisitions_total{pattern="order:*",outcome="busy"}')).toBe(1)
  expect(of('holdfast_acquisitions_total{pattern="cart:*",outcome="timeout"}')).toBe(0)
  expect(of('holdfast_wait_seconds_count{pattern="order:*"}')).toBe(101)
  expect(of('holdfast_hold_seconds_bucket{le="+Inf",pattern="order:*"}')).toBe(100)
  expect(of('holdfast_hold_seconds_count{pattern="cart:*"}')).toBe(0)
  expect(of('holdfast_line_place_sum{pattern="order:*"}')).toBe(1)
  expect(of('holdfast_held')).toBe(1)
  expect(of('holdfast_store_claims_total{store="redis",call="release"}')).toBeGreaterThanOrEqual(100)
  expect(of('holdfast_store_calls_total{store="redis",call="attempt",outcome="answered"}')).toBeLessThan(50)
  expect(of('holdfast_store_calls_total{store="redis",call="attempt",outcome="failed"}')).toBe(0)
  expect(of('holdfast_store_call_seconds_sum{store="redis",call="attempt"}')).toBeGreaterThan(0)
})

test('a server that is gone is seen in the calls, not in the timeouts', async () => {
  const gone = await startRedis()
  await using locks = await connect(gone.url, { callTimeout: 100 })
  const collector = new Collector()
  collector.watch(locks)
  const registry = new Registry()
  const remove = prometheus({ collector }, registry)
  await gone.stop()
  await expect(locks.acquire('order:1', { wait: 50 })).rejects.toThrow(StoreError)
  const text = await registry.metrics()
  expect(figure(text, 'holdfast_acquisitions_total{pattern="order:*",outcome="failed"}')).toBe(1)
  expect(figure(text, 'holdfast_acquisitions_total{pattern="order:*",outcome="timeout"}')).toBe(0)
  expect(
    figure(text, 'holdfast_store_calls_total{store="redis",call="attempt",outcome="failed"}'),
  ).toBeGreaterThanOrEqual(1)
  remove()
  expect(registry.getMetricsAsArray()).toEqual([])
})

test('a registry takes one collector, writes OpenMetrics too, and is left as it was when it refuses', async () => {
  const registry = new Registry()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never)
  prometheus({ collector: new Collector() }, registry)
  const names = registry.getMetricsAsArray().length
  expect(() => prometheus({ collector: new Collector() }, registry)).toThrow('already been registered')
  expect(registry.getMetricsAsArray()).toHaveLength(names)
  expect(await registry.metrics()).toContain('holdfast_event_loop_stalls_total 0')
  expect(() => prometheus({ collector: new Collector() }, {} as never)).toThrow('prom-client')
})
