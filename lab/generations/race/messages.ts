export type Protection = 'none' | 'local' | 'lock'

/** The order to one process of the race: sell units of the stock in this key until there are none. */
export interface RaceOrder {
  readonly protection: Protection
  readonly url: string
  readonly fencedUrl: string
  readonly key: string
  /** How many buyers the process serves at the same time. */
  readonly buyers: number
  readonly paymentMs: number
}

export type FromRacer =
  | { readonly kind: 'ready' }
  /** The numbers that the stock had before each sale: a number that comes twice was sold twice. */
  | { readonly kind: 'done'; readonly units: readonly number[] }
  | { readonly kind: 'failed'; readonly message: string }
