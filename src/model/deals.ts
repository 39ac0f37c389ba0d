/** How many there are, or which: units have names and are handed out from the front. */
export type Goods = number | readonly string[]

/**
 * One step on a stock. `order` names the step's effect: the same order has its effect once, and answers the same again. An
 * order belongs to what it was first used for: adding these goods, or taking that many for that buyer.
 */
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
  /** Keeps the order for a take in another stock, or only asks whether it could. */
  | {
      readonly kind: 'register' | 'compare'
      readonly order: string
      readonly buyer: string
      readonly count: number
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
  /** The order is new, or it was registered or used for the same before. */
  | { readonly kind: 'fits' }
  /** The order was first used for something else. */
  | { readonly kind: 'conflict'; readonly first: FirstUse }
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

export interface FirstUse {
  readonly kind: 'add' | 'take'
  /** Null for what was added, and for goods on their way to another stock. */
  readonly buyer: string | null
  /** 0 when it is not known. */
  readonly count: number
}

/**
 * Does one step on a stock atomically. A store that has something better for it than records offers it as an accelerator;
 * everywhere else the steps of `stock.ts` run over records.
 */
export type Trade = (key: string, deal: Deal) => DealAnswer | Promise<DealAnswer>

export function sameGoods(goods: Goods, others: Goods): boolean {
  return JSON.stringify(goods) === JSON.stringify(others)
}

export function amount(goods: Goods): number {
  return typeof goods === 'number' ? goods : goods.length
}
