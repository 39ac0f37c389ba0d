import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease } from 'holdfast'
import { Redis } from 'ioredis'
import { rateOf } from './crowd.ts'
import { type Figures, type Part, type Run, upTo } from './part.ts'

const AT_ONCE = 500
/** Longer than a default ttl, so that a lease that is still held was renewed. */
const HELD_MS = { full: 12_000, quick: 1000, tiny: 100 }

export const HELD: Part = {
  name: 'held',
  title: `keys held by one process, taken ${AT_ONCE} at once`,
  unit: 'keys',
  plotted: 'per second',
  sizes: (_, extent) => upTo([1000, 10_000, 100_000], extent, 1000),
  startsSlowly: true,
  run: held,
}

export const LEFT: Part = {
  name: 'left',
  title: `keys taken and given back, ${AT_ONCE} at once, and what is left of them`,
  unit: 'keys',
  plotted: 'bytes per key',
  sizes: (store, extent) =>
    store !== 'redis'
      ? []
      : extent === 'full'
        ? [10_000, 100_000, 1_000_000]
        : upTo([10_000], extent, 10_000),
  startsSlowly: true,
  run: left,
}

async function held(run: Run): Promise<Figures> {
  const { n, prefix, extent } = run.order
  const { locks, lost, close } = await run.open(1)
  const leases: Lease[] = []
  let cpuMsPerSecond = Number.NaN
  let tookMs = Number.NaN
  let givenMs = Number.NaN
  const startedAtMs = performance.now()
  const figures = (): Figures => ({
    wanted: n,
    served: leases.length,
    'per second': rateOf(leases.length, Number.isNaN(tookMs) ? performance.now() - startedAtMs : tookMs),
    'released per second': rateOf(leases.length, givenMs),
    'CPU ms/s while held': cpuMsPerSecond,
    errors,
    lost: lost(),
    overlaps: 0,
  })
  let errors = 0
  run.tell(figures())
  await inPortions(run, n, figures, async (index) => {
    try {
      leases.push(await locks[0]!.acquire(`${prefix}${index}`))
    } catch {
      errors++
    }
  })
  tookMs = performance.now() - startedAtMs
  const cpu = process.cpuUsage()
  const heldFromMs = performance.now()
  await sleep(Math.min(HELD_MS[extent], run.leftMs()))
  const { user, system } = process.cpuUsage(cpu)
  cpuMsPerSecond = (user + system) / (performance.now() - heldFromMs)
  run.tell(figures())
  const givingFromMs = performance.now()
  await inPortions(run, leases.length, figures, (index) => leases[index]!.release())
  givenMs = performance.now() - givingFromMs
  const found = figures()
  run.tell(found)
  await run.within(close())
  return found
}

async function left(run: Run): Promise<Figures> {
  const { n, prefix, url } = run.order
  const { locks, lost, close } = await run.open(1)
  const server = new Redis(url)
  let served = 0
  let errors = 0
  const before = await stateOf(server)
  const startedAtMs = performance.now()
  const figures = (): Figures => ({
    wanted: n,
    served,
    'per second': rateOf(served, performance.now() - startedAtMs),
    'bytes per key': Number.NaN,
    'keys in Redis per key': Number.NaN,
    errors,
    lost: lost(),
    overlaps: 0,
  })
  await inPortions(run, n, figures, async (index) => {
    try {
      await locks[0]!.using(`${prefix}${index}`, () => {})
      served++
    } catch {
      errors++
    }
  })
  const rate = figures()
  await sleep(200)
  const after = await stateOf(server)
  const found: Figures = {
    ...rate,
    'bytes per key': (after.bytes - before.bytes) / served,
    'keys in Redis per key': (after.keys - before.keys) / served,
  }
  run.tell(found)
  await run.within(Promise.all([close(), server.flushall()]))
  server.disconnect()
  return found
}

async function stateOf(server: Redis): Promise<{ bytes: number; keys: number }> {
  const memory = await server.info('memory')
  return { bytes: Number(/used_memory:(\d+)/.exec(memory)?.[1]), keys: await server.dbsize() }
}

async function inPortions(
  run: Run,
  count: number,
  figures: () => Figures,
  each: (index: number) => Promise<unknown>,
): Promise<void> {
  let toldAtMs = performance.now()
  for (let from = 0; from < count && run.leftMs() > 0; from += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - from)
    await run.within(Promise.all(Array.from({ length }, (_, index) => each(from + index))))
    if (performance.now() - toldAtMs < 1000) continue
    toldAtMs = performance.now()
    run.tell(figures())
  }
}
