import { alive, type RecordState, written } from './records.ts'
import type { Clock } from './types.ts'

/** How many there are, or which: units have names and are handed out from the front. */
export type Goods = number | readonly string[]

/** One step on a stock. `order` names the step's effect: the same order has its effect once, and answers the same again. */
export type Deal =
  | { readonly kind: 'open'; readonly goods: Goods; readonly ttlMs: number | null }
  | { readonly kind: 'add'; readonly order: string; readonly goods: Goods }
  | {
      readonly kind: 'take'
      readonly order: string
      /** Null for goods on their way to another stock. */
      readonly buyer: string | null
      readonly count: number
      /** The most that one buyer may have, held or sold; null for no limit. */
      readonly perBuyer: number | null
      /** Goods that are not confirmed for that long return by themselves; null sells at once. */
      readonly holdMs: number | null
    }
  /** Sells what was held. */
  | { readonly kind: 'confirm'; readonly order: string }
  /** Puts what was taken back into the stock. */
  | { readonly kind: 'giveBack'; readonly order: string }
  /** Lets goods go that have arrived in another stock. */
  | { readonly kind: 'ship'; readonly order: string }
  | { readonly kind: 'look' }

export type DealAnswer =
  | { readonly kind: 'opened'; readonly created: boolean; readonly goods: Goods }
  | { readonly kind: 'added' }
  | { readonly kind: 'taken'; readonly goods: Goods }
  | { readonly kind: 'short'; readonly left: number }
  | { readonly kind: 'limit'; readonly has: number }
  /** The order was given back: it neither takes again nor can be confirmed. */
  | { readonly kind: 'returned' }
  | { readonly kind: 'settled' }
  /** Nobody took under that order, or its hold ran out. */
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'stock'
      readonly left: number
      readonly held: number
      readonly sold: number
      readonly moving: readonly Move[]
    }
  /** Counted goods and named units do not mix in one stock. */
  | { readonly kind: 'unfit' }
  | { readonly kind: 'absent' }

/** Goods that left one stock and have not been let go there. */
export interface Move {
  readonly order: string
  readonly goods: Goods
}

type OrderState = 'held' | 'sold' | 'moving' | 'returned' | 'added'

interface Order {
  readonly state: OrderState
  readonly buyer: string | null
  readonly goods: Goods
  /** Wall-clock milliseconds; 0 when it does not end by itself. */
  readonly untilMs: number
}

interface Stock {
  readonly opening: Goods
  left: Goods
  sold: number
  readonly orders: Map<string, Order>
  readonly buyers: Map<string, number>
}

/** Names come from outside, and `__proto__` is one of them: hence maps, which objects are only in the text. */
function parse(text: string): Stock {
  const { orders, buyers, ...rest } = JSON.parse(text)
  return { ...rest, orders: new Map(Object.entries(orders)), buyers: new Map(Object.entries(buyers)) }
}

function format({ orders, buyers, ...rest }: Stock): string {
  return JSON.stringify({ ...rest, orders: Object.fromEntries(orders), buyers: Object.fromEntries(buyers) })
}

/** Answers that leave the stock as it is. */
const REFUSALS: ReadonlySet<DealAnswer['kind']> = new Set(['short', 'limit', 'returned', 'unknown', 'unfit'])

/**
 * One step on the stock that a record holds, for stores that keep it as one value. Holds end by `wallMs`, because
 * they may outlive a restart of the machine.
 */
export function trade(
  record: RecordState | null,
  deal: Deal,
  previousVersion: number,
  clock: Clock,
  wallMs: number,
): { next: RecordState | null; answer: DealAnswer } {
  const current = alive(record, clock.nowMs)
  if (deal.kind === 'open') return open(current, deal, previousVersion, clock)
  if (current === null) return { next: null, answer: { kind: 'absent' } }
  const stock = parse(current.value)
  const changed = returnExpired(stock, wallMs)
  const answer = step(stock, deal, wallMs)
  if (!changed && (deal.kind === 'look' || REFUSALS.has(answer.kind))) return { next: current, answer }
  const { version } = written(previousVersion, '', null, clock)
  return { next: { ...current, version, value: format(stock) }, answer }
}

function open(
  current: RecordState | null,
  deal: Deal & { kind: 'open' },
  previousVersion: number,
  clock: Clock,
): { next: RecordState; answer: DealAnswer } {
  if (current !== null) {
    const { opening } = parse(current.value)
    return { next: current, answer: { kind: 'opened', created: false, goods: opening } }
  }
  const stock: Stock = {
    opening: deal.goods,
    left: deal.goods,
    sold: 0,
    orders: new Map(),
    buyers: new Map(),
  }
  const next = written(previousVersion, format(stock), deal.ttlMs, clock)
  return { next, answer: { kind: 'opened', created: true, goods: deal.goods } }
}

function step(stock: Stock, deal: Exclude<Deal, { kind: 'open' }>, wallMs: number): DealAnswer {
  if (deal.kind === 'look') return look(stock)
  const order = stock.orders.get(deal.order)
  switch (deal.kind) {
    case 'add':
      if (typeof deal.goods !== typeof stock.left) return { kind: 'unfit' }
      if (order === undefined) {
        stock.left = joined(stock.left, deal.goods)
        stock.orders.set(deal.order, { state: 'added', buyer: null, goods: 0, untilMs: 0 })
      }
      return { kind: 'added' }
    case 'take':
      return take(stock, deal, order, wallMs)
    case 'confirm':
      if (order?.state === 'held') {
        stock.sold += amount(order.goods)
        stock.orders.set(deal.order, { ...order, state: 'sold', untilMs: 0 })
      }
      return settled(order, 'held', 'sold')
    case 'giveBack':
      if (order?.state === 'held' || order?.state === 'sold') {
        if (order.state === 'sold') stock.sold -= amount(order.goods)
        putBack(stock, order)
        stock.orders.set(deal.order, { ...order, state: 'returned', goods: 0, untilMs: 0 })
      }
      return settled(order, 'held', 'sold', 'returned')
    case 'ship':
      if (order?.state === 'moving') stock.orders.delete(deal.order)
      return settled(order, 'moving')
  }
}

function take(
  stock: Stock,
  deal: Deal & { kind: 'take' },
  order: Order | undefined,
  wallMs: number,
): DealAnswer {
  if (order?.state === 'returned') return { kind: 'returned' }
  if (order !== undefined) return { kind: 'taken', goods: order.goods }
  const { buyer, count, perBuyer, holdMs } = deal
  const has = buyer === null ? 0 : (stock.buyers.get(buyer) ?? 0)
  if (perBuyer !== null && has + count > perBuyer) return { kind: 'limit', has }
  const available = amount(stock.left)
  if (available < count) return { kind: 'short', left: available }
  const goods = typeof stock.left === 'number' ? count : stock.left.slice(0, count)
  stock.left = typeof stock.left === 'number' ? available - count : stock.left.slice(count)
  const state = buyer === null ? 'moving' : holdMs === null ? 'sold' : 'held'
  if (state === 'sold') stock.sold += count
  if (buyer !== null) stock.buyers.set(buyer, has + count)
  stock.orders.set(deal.order, { state, buyer, goods, untilMs: holdMs === null ? 0 : wallMs + holdMs })
  return { kind: 'taken', goods }
}

function settled(order: Order | undefined, ...states: readonly OrderState[]): DealAnswer {
  if (order !== undefined && states.includes(order.state)) return { kind: 'settled' }
  return order?.state === 'returned' ? { kind: 'returned' } : { kind: 'unknown' }
}

function look(stock: Stock): DealAnswer {
  const orders = [...stock.orders]
  const held = orders.reduce((sum, [, { state, goods }]) => sum + (state === 'held' ? amount(goods) : 0), 0)
  const moving = orders.flatMap(([order, { state, goods }]) => (state === 'moving' ? [{ order, goods }] : []))
  return { kind: 'stock', left: amount(stock.left), held, sold: stock.sold, moving }
}

function returnExpired(stock: Stock, wallMs: number): boolean {
  const expired = [...stock.orders].filter(([, { untilMs }]) => untilMs > 0 && untilMs <= wallMs)
  for (const [id, order] of expired) {
    putBack(stock, order)
    stock.orders.delete(id)
  }
  return expired.length > 0
}

function putBack(stock: Stock, { buyer, goods }: Order): void {
  stock.left = joined(stock.left, goods)
  if (buyer === null) return
  const has = (stock.buyers.get(buyer) ?? 0) - amount(goods)
  if (has > 0) stock.buyers.set(buyer, has)
  else stock.buyers.delete(buyer)
}

function joined(goods: Goods, more: Goods): Goods {
  return typeof goods === 'number' ? goods + amount(more) : goods.concat(more as readonly string[])
}

export function amount(goods: Goods): number {
  return typeof goods === 'number' ? goods : goods.length
}
