/** The goods on sale, and the buyers. */
export const SALE = {
  units: 100,
  workers: 8,
  buyers: 4_000,
  ttlMs: 1_000,
  /** A payment takes from `shortestPaymentMs` to twice that and a bit more. */
  shortestPaymentMs: 8,
  paymentSpreadMs: 16,
} as const

/** The start message of a worker. */
export interface Order {
  readonly worker: number
  readonly folder: string
  readonly guarded: boolean
  readonly buyers: number
}

/** A unit that a buyer has paid for and was promised. */
export interface Sale {
  readonly worker: number
  readonly unit: number
  readonly token: string | null
  /** When the worker had read the stock and when it had written it, by the wall clock that all processes share. */
  readonly fromMs: number
  readonly toMs: number
}

/** A write that the stock refused, because it has seen a higher token. */
export interface Refusal {
  readonly worker: number
  readonly unit: number
  readonly token: string
  readonly fence: string
  readonly atMs: number
}

export type FromWorker =
  | { readonly kind: 'ready' }
  /** The worker has read the stock, has not written it, and stands still there. */
  | { readonly kind: 'inside'; readonly unit: number; readonly token: string }
  | ({ readonly kind: 'sold' } & Sale)
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'turnedAway'; readonly count: number }
  | { readonly kind: 'failed'; readonly message: string }

export type ToWorker =
  | { readonly kind: 'open' }
  /** Stand still in the middle of the next sale, until `go`. */
  | { readonly kind: 'trap' }
  | { readonly kind: 'go' }
