/** A number, or a list of units, which have names and are taken from the front. */
export type Goods = number | readonly string[]

/**
 * One step on a stock. `order` names its effect: the same order has its effect once, and gives the same answer again. An
 * order belongs to its first use: adding these goods, or taking that many for that buyer.
 */
export type Deal =
  | { readonly kind: 'open'; readonly goods: Goods; readonly ttlMs: number | null }
  | { readonly kind: 'add'; readonly order: string; readonly goods: Goods }
  | {
      readonly kind: 'take'
      readonly order: string
      /** Null for a move to another stock. */
      readonly buyer: string | null
      readonly count: number
      /** The most that one buyer may have, held or sold; null for no limit. */
      readonly perBuyer: number | null
      /** Goods return by themselves unless they are confirmed within this time; null sells at once. */
      readonly holdMs: number | null
    }
  /** Reserves the order for a take in another stock, or only checks whether it could. */
  | {
      readonly kind: 'register' | 'compare'
      readonly order: string
      readonly buyer: string
      readonly count: number
    }
  /** Sells held goods. */
  | { readonly kind: 'confirm'; readonly order: string }
  /** Returns taken goods to the stock. */
  | { readonly kind: 'giveBack'; readonly order: string }
  /** Forgets goods that have arrived in another stock. */
  | { readonly kind: 'ship'; readonly order: string }
  | { readonly kind: 'look' }

export type DealAnswer =
  | { readonly kind: 'opened'; readonly created: boolean; readonly goods: Goods }
  | { readonly kind: 'added' }
  | { readonly kind: 'taken'; readonly goods: Goods }
  | { readonly kind: 'short'; readonly left: number }
  | { readonly kind: 'limit'; readonly has: number }
  /** The order was given back: it can neither take again nor be confirmed. */
  | { readonly kind: 'returned' }
  /** The order is new, or was registered or used for the same before. */
  | { readonly kind: 'fits' }
  /** The order's first use was another one. */
  | { readonly kind: 'conflict'; readonly first: FirstUse }
  | { readonly kind: 'settled' }
  /** The order did not take, or its hold expired. */
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

/** Goods that left one stock and are not forgotten there. */
export interface Move {
  readonly order: string
  readonly goods: Goods
}

export interface FirstUse {
  readonly kind: 'add' | 'take'
  /** Null for an addition, and for a move to another stock. */
  readonly buyer: string | null
  /** 0 if it is not known. */
  readonly count: number
}

/**
 * Does one step on a stock atomically. A store with something better than records offers it as an accelerator; elsewhere the
 * steps of `stock.ts` run over records.
 */
export type Trade = (key: string, deal: Deal) => DealAnswer | Promise<DealAnswer>

export function sameGoods(goods: Goods, others: Goods): boolean {
  return JSON.stringify(goods) === JSON.stringify(others)
}

export function amount(goods: Goods): number {
  return typeof goods === 'number' ? goods : goods.length
}
