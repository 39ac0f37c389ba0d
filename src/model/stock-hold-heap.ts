import { type Cells, holdCell, type Reading, readCell, type StockHead } from './stock-cells.ts'

interface StockHold {
  readonly order: string
  readonly untilMs: number
}

/**
 * The holds by their end, as a binary heap with a cell for each index. A settled order stays in it until its time has come,
 * and is recognised by its state then.
 */
export function* pushHold(head: StockHead, hold: StockHold, cells: Cells): Reading<StockHead> {
  let at = head.holds.count
  while (at > 0) {
    const above = (at - 1) >> 1
    const parent = (yield* readCell<StockHold>(holdCell(above))) as StockHold
    if (parent.untilMs <= hold.untilMs) break
    cells.set(holdCell(at), parent)
    at = above
  }
  cells.set(holdCell(at), hold)
  const { count, nextMs } = head.holds
  return { ...head, holds: { count: count + 1, nextMs: at === 0 ? hold.untilMs : nextMs } }
}

/** Removes the hold that ends first; there must be one. */
export function* popHold(head: StockHead, cells: Cells): Reading<{ head: StockHead; hold: StockHold }> {
  const count = head.holds.count - 1
  const [top, last] = (yield [holdCell(0), holdCell(count)]) as [StockHold, StockHold]
  let at = 0
  let nextMs = last.untilMs
  for (;;) {
    const left = 2 * at + 1
    if (left >= count) break
    const names = left + 1 < count ? [holdCell(left), holdCell(left + 1)] : [holdCell(left)]
    const [one, other = one] = (yield names) as [StockHold, StockHold?]
    const [child, below] = other.untilMs < one.untilMs ? [other, left + 1] : [one, left]
    if (child.untilMs >= last.untilMs) break
    cells.set(holdCell(at), child)
    if (at === 0) nextMs = child.untilMs
    at = below
  }
  if (count > 0) cells.set(holdCell(at), last)
  return { head: { ...head, holds: { count, nextMs: count > 0 ? nextMs : 0 } }, hold: top }
}
