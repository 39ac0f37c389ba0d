/** The goods on sale, and the buyers. */
export const SALE = {
  units: 100,
  workers: 8,
  buyers: 4_000,
  ttlMs: 1_000,
  /** A payment takes from `shortestPaymentMs` to a little more than twice that. */
  shortestPaymentMs: 8,
  paymentSpreadMs: 16,
} as const

/** The start message of a worker. */
export interface WorkerStart {
  readonly worker: number
  readonly folder: string
  readonly guarded: boolean
  readonly buyers: number
}

/** A unit that was paid for and promised to a buyer. */
export interface Sale {
  readonly worker: number
  readonly unit: number
  readonly token: string | null
  /** The times at which the worker had read and had written the stock, by the shared wall clock. */
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
  /** The worker has read the stock, has not written it, and has stopped there. */
  | { readonly kind: 'inside'; readonly unit: number; readonly token: string }
  | ({ readonly kind: 'sold' } & Sale)
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'turnedAway'; readonly count: number }
  | { readonly kind: 'failed'; readonly message: string }

export type ToWorker =
  | { readonly kind: 'open' }
  /** Stop in the middle of the next sale, until `go`. */
  | { readonly kind: 'trap' }
  | { readonly kind: 'go' }
