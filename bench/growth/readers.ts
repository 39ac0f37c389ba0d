import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, Locks } from 'holdfast'
import { quantile } from '../statistics.ts'
import { rateOf } from './crowd.ts'
import { type Figures, type Part, type Run, timesOf, upTo } from './part.ts'

/** Readers that come while a writer waits. */
const LATE = 10
const KEPT_MS = { full: 4000, quick: 500, tiny: 50 }
/** Until the store has put a writer, or a late reader, into its queue. */
const UNTIL_QUEUED_MS = 2000
const LATE_TRY_MS = 200

export const READERS: Part = {
  name: 'readers',
  title: 'readers of one process on one key, then a writer',
  unit: 'readers',
  plotted: 'per second',
  sizes: (_, extent) => upTo([10, 100, 1000, 10_000], extent),
  run: (run) => readers(run, 1),
}

export const SEPARATE_READERS: Part = {
  name: 'separate',
  title: 'Locks objects with a reader each on one key, then a writer',
  unit: 'Locks objects',
  plotted: 'per second',
  sizes: (_, extent) => upTo([10, 100, 1000], extent),
  run: (run) => readers(run, run.order.n),
}

/** All read at once until the last of them is in. The last crowd stays for a while, and then a writer comes, and readers after it. */
async function readers(run: Run, objects: number): Promise<Figures> {
  const { n, prefix, extent } = run.order
  const { locks, lost, waiting, close } = await run.open(objects + 2)
  const [writer, late, ...reading] = locks as [Locks, Locks, ...Locks[]]
  const times = timesOf(n, extent)
  const waitsMs: number[] = []
  let errors = 0
  let activeMs = 0
  let turn: Figures = NO_TURN
  const figures = (): Figures => ({
    wanted: n * times,
    served: waitsMs.length,
    'per second': rateOf(waitsMs.length, activeMs),
    'wait p50 ms': quantile(waitsMs, 0.5),
    'wait p99 ms': quantile(waitsMs, 0.99),
    errors,
    lost: lost(),
    ...turn,
    overlaps: 0,
  })
  run.tell(figures())
  for (let time = 0; time < times && run.leftMs() > 0; time++) {
    const key = `${prefix}${time}`
    const startedAtMs = performance.now()
    const leases: Lease[] = []
    const asked = Array.from({ length: n }, async (_, index) => {
      try {
        const lease = await reading[index % objects]!.rw(key).read.acquire()
        waitsMs.push(performance.now() - startedAtMs)
        leases.push(lease)
      } catch {
        errors++
      }
    })
    await run.within(Promise.all(asked))
    activeMs += performance.now() - startedAtMs
    run.tell(figures())
    if (time + 1 < times) await run.within(Promise.all(leases.map((lease) => lease.release())))
    else {
      await sleep(Math.min(KEPT_MS[extent], run.leftMs()))
      turn = (await run.within(writersTurn(key, leases, writer, late, waiting))) ?? NO_TURN
    }
  }
  const found = figures()
  run.tell(found)
  await run.within(close())
  return found
}

const NO_TURN: Figures = { 'writer after ms': Number.NaN, 'overtook the writer': Number.NaN }

/** From the last reader's leaving to the writer's grant, and how many of those that came after the writer were in before it. */
async function writersTurn(
  key: string,
  leases: readonly Lease[],
  writer: Locks,
  late: Locks,
  waiting: () => number,
): Promise<Figures> {
  const before = waiting()
  let grantedAtMs = Number.NaN
  const writing = writer
    .rw(key)
    .write.acquire()
    .then((lease) => {
      grantedAtMs = performance.now()
      return lease
    })
  await until(() => waiting() > before, UNTIL_QUEUED_MS)
  let overtook = 0
  const comers = Array.from({ length: LATE }, async () => {
    const lease = await late.rw(key).read.acquire()
    if (Number.isNaN(grantedAtMs)) overtook++
    await lease.release()
  })
  await sleep(LATE_TRY_MS)
  await Promise.all(leases.map((lease) => lease.release()))
  const leftAtMs = performance.now()
  const lease = await writing
  await lease.release()
  await Promise.all(comers)
  return { 'writer after ms': Math.max(0, grantedAtMs - leftAtMs), 'overtook the writer': overtook }
}

async function until(holds: () => boolean, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!holds() && performance.now() < endMs) await sleep(5)
}
