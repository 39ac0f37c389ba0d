import {
  amount,
  type Deal,
  type DealAnswer,
  type FirstUse,
  type Goods,
  type Move,
  sameGoods,
} from './deals.ts'
import {
  addToBuyer,
  append,
  buyerCell,
  type Cells,
  OPENING,
  type OrderState,
  orderCell,
  type Parcel,
  parcelOf,
  type Reading,
  readCell,
  type StockHead,
  type StockOrder,
  sizeOf,
  takeUnits,
  unitsIn,
} from './stock-cells.ts'
import { popHold, pushHold } from './stock-hold-heap.ts'

/**
 * An order belongs to its buyer for so long after its hold expired. If it were free at once, another buyer could use it,
 * and a late `confirm` of the first one would sell the other's goods.
 */
const REMEMBER_MS = 86_400_000

/** The most holds that return in one step; the next steps return the others. */
export const MOST_RETURNS = 50

/** The result of a step; the head is null when there is no stock. */
export interface Traded {
  readonly head: StockHead | null
  readonly answer: DealAnswer
}

/** `wallMs` is the time of holds, because they may outlive a restart of the machine. */
export function trade(head: StockHead | null, deal: Deal, cells: Cells, wallMs: number): Reading<Traded> {
  if (deal.kind === 'open') return open(head, deal, cells, wallMs)
  return head === null ? absent() : step(head, deal, cells, wallMs)
}

/** True if expired holds remain, which `returnExpired` gives back before the step. */
export function hasExpired({ holds }: StockHead, wallMs: number): boolean {
  return holds.count > 0 && holds.nextMs <= wallMs
}

export function* returnExpired(head: StockHead, cells: Cells, wallMs: number): Reading<StockHead> {
  for (let returns = 0; returns < MOST_RETURNS && hasExpired(head, wallMs); returns++) {
    const popped = yield* popHold(head, cells)
    head = popped.head
    const { order: name, untilMs } = popped.hold
    const order = yield* readCell<StockOrder>(orderCell(name))
    if (order?.state !== 'held' || order.untilMs !== untilMs) continue
    head = yield* putBack({ ...head, held: head.held - amount(order.goods) }, order, cells)
    const forgetAtMs = untilMs + REMEMBER_MS
    const kept: StockOrder = {
      ...order,
      state: 'registered',
      goods: amount(order.goods),
      untilMs: forgetAtMs,
    }
    cells.set(orderCell(name), kept, forgetAtMs)
  }
  return head
}

// biome-ignore lint/correctness/useYield: a step that needs no cells
function* absent(): Reading<Traded> {
  return { head: null, answer: { kind: 'absent' } }
}

function* open(
  head: StockHead | null,
  { goods, ttlMs }: Deal & { kind: 'open' },
  cells: Cells,
  wallMs: number,
): Reading<Traded> {
  if (head !== null) {
    const opening = (yield* readCell<number | Parcel>(OPENING)) ?? 0
    const first = typeof opening === 'number' ? opening : yield* unitsIn(opening, 0, sizeOf(opening))
    return { head, answer: { kind: 'opened', created: false, goods: first } }
  }
  const named = typeof goods !== 'number'
  const opening = named ? parcelOf(goods, cells) : goods
  const opened: StockHead = {
    id: cells.newId(),
    revision: 0,
    endsAtMs: ttlMs === null ? null : wallMs + ttlMs,
    named,
    left: amount(goods),
    held: 0,
    sold: 0,
    moving: [],
    queue: { first: 0, gone: 0, next: 0 },
    holds: { count: 0, nextMs: 0 },
  }
  cells.set(OPENING, opening)
  const filled = typeof opening === 'number' ? opened : append(opened, opening, cells)
  return { head: filled, answer: { kind: 'opened', created: true, goods } }
}

function* step(
  head: StockHead,
  deal: Exclude<Deal, { kind: 'open' }>,
  cells: Cells,
  wallMs: number,
): Reading<Traded> {
  if (deal.kind === 'look') return { head, answer: yield* look(head) }
  const found = yield* readCell<StockOrder>(orderCell(deal.order))
  // An order that outlived its hold is forgotten by the clock; the store removes it later.
  const order = found?.state === 'registered' && found.untilMs > 0 && found.untilMs <= wallMs ? null : found
  const put = (next: StockOrder | null) => cells.set(orderCell(deal.order), next)
  switch (deal.kind) {
    case 'add':
      if ((typeof deal.goods !== 'number') !== head.named) return { head, answer: { kind: 'unfit' } }
      if (order !== null) return { head, answer: conflictOf(order, deal) ?? { kind: 'added' } }
      put({ state: 'added', buyer: null, goods: deal.goods, untilMs: 0 })
      return { head: joined(head, deal.goods, cells), answer: { kind: 'added' } }
    case 'take':
      return yield* take(head, deal, order, cells, wallMs)
    case 'register':
    case 'compare': {
      if (order !== null) return { head, answer: conflictOf(order, deal) ?? { kind: 'fits' } }
      const { kind, buyer, count } = deal
      if (kind === 'compare') return { head, answer: { kind: 'fits' } }
      put({ state: 'registered', buyer, goods: count, untilMs: 0 })
      return { head, answer: { kind: 'fits' } }
    }
    case 'confirm': {
      const answer = settled(order, 'held', 'sold')
      if (order?.state !== 'held') return { head, answer }
      const count = amount(order.goods)
      put({ ...order, state: 'sold', untilMs: 0 })
      return { head: { ...head, held: head.held - count, sold: head.sold + count }, answer }
    }
    case 'giveBack': {
      const answer = settled(order, 'held', 'sold', 'returned')
      if (order?.state !== 'held' && order?.state !== 'sold') return { head, answer }
      const count = amount(order.goods)
      put({ ...order, state: 'returned', goods: amount(order.goods), untilMs: 0 })
      const { held, sold } = head
      const without =
        order.state === 'held' ? { ...head, held: held - count } : { ...head, sold: sold - count }
      return { head: yield* putBack(without, order, cells), answer }
    }
    case 'ship': {
      const answer = settled(order, 'moving')
      if (order?.state !== 'moving') return { head, answer }
      put(null)
      return { head: { ...head, moving: head.moving.filter((name) => name !== deal.order) }, answer }
    }
  }
}

function* take(
  head: StockHead,
  deal: Deal & { kind: 'take' },
  order: StockOrder | null,
  cells: Cells,
  wallMs: number,
): Reading<Traded> {
  const conflict = order && conflictOf(order, deal)
  if (conflict) return { head, answer: conflict }
  if (order?.state === 'returned') return { head, answer: { kind: 'returned' } }
  if (order !== null && order.state !== 'registered')
    return { head, answer: { kind: 'taken', goods: order.goods } }
  const { buyer, count, perBuyer, holdMs } = deal
  const has = buyer === null ? 0 : ((yield* readCell<number>(buyerCell(buyer))) ?? 0)
  if (perBuyer !== null && has + count > perBuyer) return { head, answer: { kind: 'limit', has } }
  if (head.left < count) return { head, answer: { kind: 'short', left: head.left } }
  let goods: Goods = count
  let next: StockHead = { ...head, left: head.left - count }
  if (head.named) {
    const taken = yield* takeUnits(next, count, cells)
    next = taken.head
    goods = taken.units
  }
  yield* addToBuyer(buyer, goods, 1, cells)
  const state = buyer === null ? 'moving' : holdMs === null ? 'sold' : 'held'
  const untilMs = state === 'held' ? wallMs + (holdMs ?? 0) : 0
  if (state === 'moving') next = { ...next, moving: [...next.moving, deal.order] }
  if (state === 'sold') next = { ...next, sold: next.sold + count }
  if (state === 'held') {
    next = { ...next, held: next.held + count }
    next = yield* pushHold(next, { order: deal.order, untilMs }, cells)
  }
  cells.set(orderCell(deal.order), { state, buyer, goods, untilMs } satisfies StockOrder)
  return { head: next, answer: { kind: 'taken', goods } }
}

/** Undefined if the deal is the one that the order was first used for. */
function conflictOf(order: StockOrder, deal: Deal & { kind: 'add' | 'take' | 'register' | 'compare' }) {
  const first: FirstUse = {
    kind: order.state === 'added' ? 'add' : 'take',
    buyer: order.buyer,
    count: amount(order.goods),
  }
  const same =
    deal.kind === 'add'
      ? first.kind === 'add' && sameGoods(order.goods, deal.goods)
      : first.kind === 'take' && first.buyer === deal.buyer && first.count === deal.count
  return same ? undefined : ({ kind: 'conflict', first } as const)
}

function settled(order: StockOrder | null, ...states: readonly OrderState[]): DealAnswer {
  if (order !== null && states.includes(order.state)) return { kind: 'settled' }
  return order?.state === 'returned' ? { kind: 'returned' } : { kind: 'unknown' }
}

function* look({ left, held, sold, moving }: StockHead): Reading<DealAnswer> {
  const orders = (yield moving.map(orderCell)) as readonly StockOrder[]
  const moves: Move[] = moving.map((order, index) => ({ order, goods: (orders[index] as StockOrder).goods }))
  return { kind: 'stock', left, held, sold, moving: moves }
}

function* putBack(head: StockHead, { buyer, goods }: StockOrder, cells: Cells): Reading<StockHead> {
  yield* addToBuyer(buyer, goods, -1, cells)
  return joined(head, goods, cells)
}

function joined(head: StockHead, goods: Goods, cells: Cells): StockHead {
  const more = { ...head, left: head.left + amount(goods) }
  return typeof goods === 'number' ? more : append(more, parcelOf(goods, cells), cells)
}
