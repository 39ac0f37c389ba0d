import type { Generation } from '../locks/index.ts'

/** The order to one process at its start: sell one unit of the stock under this lock. */
export interface ActorOrder {
  readonly name: string
  readonly generation: Generation
  readonly url: string
  readonly key: string
  readonly ttlMs: number
  readonly waitMs: number
  /** How long the sale takes, between reading the stock and writing it. */
  readonly workMs: number
  /** Where it stands still until it is told to go on, and how long it works after that. */
  readonly standAt: 'work' | 'seam' | null
  readonly afterMs: number
}

/** Times are those of the machine's monotonic clock. */
export type FromActor =
  | { readonly kind: 'ready' }
  | { readonly kind: 'asked'; readonly atMs: number }
  | {
      readonly kind: 'took'
      readonly atMs: number
      readonly id: string | null
      readonly token: string | null
      readonly command: string
      readonly reply: string
    }
  | { readonly kind: 'gaveUp'; readonly atMs: number }
  | { readonly kind: 'read'; readonly token: string | null }
  | { readonly kind: 'stands'; readonly atMs: number }
  /** It knows by itself since when the lock is not its own any more, and goes on nevertheless. */
  | { readonly kind: 'lost'; readonly atMs: number; readonly sinceMs: number }
  | { readonly kind: 'write'; readonly left: number; readonly token: string | null }
  /** It is done and begins to give the lock back: from here on another may rightly have it. */
  | { readonly kind: 'left'; readonly atMs: number }
  | { readonly kind: 'released'; readonly atMs: number; readonly command: string; readonly reply: string }
  | { readonly kind: 'failed'; readonly message: string }

export type ToActor =
  | { readonly kind: 'start' }
  | { readonly kind: 'stock'; readonly left: number }
  | { readonly kind: 'written' }
  | { readonly kind: 'go' }
