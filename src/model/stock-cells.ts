import { amount, type Deal, type Goods } from './deals.ts'

/** The part of a stock that nearly every step needs; it does not grow with the number of sales. */
export interface StockHead {
  /** Cells of an earlier stock of the same name have another id. */
  readonly id: string
  /** The number of steps that changed anything. */
  readonly revision: number
  /** Wall-clock milliseconds; null for a stock that stays. */
  readonly endsAtMs: number | null
  /** Its goods are named units, or only counted. */
  readonly named: boolean
  readonly left: number
  readonly held: number
  readonly sold: number
  /** The orders that move goods to another stock: one for each move under way. */
  readonly moving: readonly string[]
  /** The queue of the named units: the first parcel, the number of its units that are gone, and the next parcel. */
  readonly queue: { readonly first: number; readonly gone: number; readonly next: number }
  /** The heap of the holds: their number, and the end of the first one. */
  readonly holds: { readonly count: number; readonly nextMs: number }
}

/** `registered`: nothing is taken, but only the same take may use the order. */
export type OrderState = 'held' | 'sold' | 'moving' | 'returned' | 'added' | 'registered'

export interface StockOrder {
  readonly state: OrderState
  readonly buyer: string | null
  /** The goods taken or added; for an order without goods, their number. */
  readonly goods: Goods
  /** Wall-clock milliseconds; 0 if it does not end by itself. */
  readonly untilMs: number
}

/** Few units directly, or many in pages, which are written before the step that refers to them. */
export type Parcel =
  | { readonly units: readonly string[] }
  | { readonly pages: string; readonly count: number }

/**
 * The small values beside the head, each read and written by name. A step reads only the cells that it needs, so its
 * cost does not depend on their number.
 */
export interface Cells {
  set(name: string, value: unknown, untilMs?: number): void
  /** Writes a page that no step refers to yet, under a unique name. */
  page(name: string, units: readonly string[]): void
  newId(): string
}

/** A step that yields names of cells and is given their values, null for missing ones. */
export type Reading<T> = Generator<readonly string[], T, readonly unknown[]>

export const UNITS_PER_PAGE = 100

export function* readCell<T>(name: string): Reading<T | null> {
  const [value] = yield [name]
  return value as T | null
}

export const orderCell = (order: string) => `order:${order}`
export const buyerCell = (buyer: string) => `buyer:${buyer}`
export const parcelCell = (number: number) => `parcel:${number}`
export const holdCell = (index: number) => `hold:${index}`
export const OPENING = 'opening'
const pageCell = (pages: string, page: number) => `page:${pages}:${page}`

/** The cells that a deal nearly always needs. */
export function cellsOf(deal: Deal): string[] {
  if (deal.kind === 'open' || deal.kind === 'look') return []
  const buyer = deal.kind === 'take' ? deal.buyer : null
  return buyer === null ? [orderCell(deal.order)] : [orderCell(deal.order), buyerCell(buyer)]
}

/** Splits many units into pages, so that no cell is large. */
export function parcelOf(units: readonly string[], cells: Cells): Parcel {
  if (units.length <= UNITS_PER_PAGE) return { units }
  const pages = cells.newId()
  for (let page = 0; page * UNITS_PER_PAGE < units.length; page++)
    cells.page(pageCell(pages, page), units.slice(page * UNITS_PER_PAGE, (page + 1) * UNITS_PER_PAGE))
  return { pages, count: units.length }
}

export function sizeOf(parcel: Parcel): number {
  return 'units' in parcel ? parcel.units.length : parcel.count
}

/** The units of a parcel with indexes from `from` to before `to`. */
export function* unitsIn(parcel: Parcel, from: number, to: number): Reading<readonly string[]> {
  if ('units' in parcel) return parcel.units.slice(from, to)
  const first = Math.floor(from / UNITS_PER_PAGE)
  const last = Math.ceil(to / UNITS_PER_PAGE)
  const names = Array.from({ length: last - first }, (_, page) => pageCell(parcel.pages, first + page))
  const pages = (yield names) as readonly (readonly string[])[]
  const start = first * UNITS_PER_PAGE
  return pages.flat().slice(from - start, to - start)
}

/** Appends units to the queue. */
export function append(head: StockHead, parcel: Parcel, cells: Cells): StockHead {
  if (sizeOf(parcel) === 0) return head
  const { next } = head.queue
  cells.set(parcelCell(next), parcel)
  return { ...head, queue: { ...head.queue, next: next + 1 } }
}

/** Takes units from the front; there must be enough. */
export function* takeUnits(
  head: StockHead,
  count: number,
  cells: Cells,
): Reading<{ head: StockHead; units: readonly string[] }> {
  const units: string[] = []
  let { first, gone } = head.queue
  while (units.length < count) {
    const parcel = (yield* readCell<Parcel>(parcelCell(first))) as Parcel
    const size = sizeOf(parcel)
    const until = Math.min(size, gone + count - units.length)
    units.push(...(yield* unitsIn(parcel, gone, until)))
    gone = until
    if (gone < size) break
    cells.set(parcelCell(first), null)
    first++
    gone = 0
  }
  return { head: { ...head, queue: { ...head.queue, first, gone } }, units }
}

/** Adds to the count of a buyer. */
export function* addToBuyer(buyer: string | null, goods: Goods, sign: 1 | -1, cells: Cells): Reading<void> {
  if (buyer === null) return
  const has = ((yield* readCell<number>(buyerCell(buyer))) ?? 0) + sign * amount(goods)
  cells.set(buyerCell(buyer), has > 0 ? has : null)
}
