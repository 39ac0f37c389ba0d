import { median } from '../statistics.ts'
import { rateOf } from './crowd.ts'
import { type Figures, type Part, type Run, upTo } from './part.ts'

const AT_ONCE = 64
const ROUNDS = 5
const TAKES = { full: 1000, quick: 200, tiny: 2 }
const ENOUGH = 10_000_000

export const ORDERS: Part = {
  name: 'orders',
  title: `takes from an inventory after so many orders, ${AT_ONCE} at once`,
  unit: 'orders before',
  plotted: 'per second',
  // A quorum keeps no records.
  sizes: (store, extent) => (store === 'quorum' ? [] : upTo([1000, 10_000, 100_000], extent, 1000)),
  startsSlowly: true,
  run: orders,
}

/** The orders before are made in the same way as those that are measured. */
async function orders(run: Run): Promise<Figures> {
  const { n, prefix, extent } = run.order
  const { locks, lost, close } = await run.open(1)
  const sale = locks[0]!.inventory(`${prefix}sale`, { perBuyer: 2 })
  await run.within(sale.stock(ENOUGH))
  const wanted = n + ROUNDS * TAKES[extent]
  const rates: number[] = []
  let next = 0
  let served = 0
  let errors = 0
  let toldAtMs = performance.now()
  const figures = (): Figures => ({
    wanted,
    served,
    // One that does not get so far has no rate there.
    'per second': rates.length === 0 ? 0 : median(rates),
    errors,
    lost: lost(),
    overlaps: 0,
  })
  const upToOrder = async (end: number): Promise<void> => {
    const buyer = async (): Promise<void> => {
      while (next < end && run.leftMs() > 0) {
        const order = next++
        try {
          const { kind } = await sale.take(`buyer ${order}`, { request: `order ${order}` })
          if (kind === 'taken') served++
          else errors++
        } catch {
          errors++
        }
        if (performance.now() - toldAtMs < 1000) continue
        toldAtMs = performance.now()
        run.tell(figures())
      }
    }
    await run.within(Promise.all(Array.from({ length: AT_ONCE }, buyer)))
  }
  run.tell(figures())
  await upToOrder(n)
  for (let round = 0; round < ROUNDS && run.leftMs() > 0; round++) {
    const before = served
    const startedAtMs = performance.now()
    await upToOrder(n + (round + 1) * TAKES[extent])
    if (run.leftMs() > 0) rates.push(rateOf(served - before, performance.now() - startedAtMs))
  }
  const found = figures()
  run.tell(found)
  await run.within(close())
  return found
}
