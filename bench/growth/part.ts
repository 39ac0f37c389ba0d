import type { Opened } from './open.ts'

/** A store by its name in the tables, e.g. `redis`. */
export const STORES = [
  'memory',
  'sqlite',
  'redis',
  'quorum',
  'etcd',
  'zookeeper',
  'postgres',
  'mysql',
] as const
export type StoreName = (typeof STORES)[number]

export const OURS = 'holdfast'

/** How much of everything a run does: `tiny` only shows that it works, `quick` goes up to a hundred. */
export type Extent = 'full' | 'quick' | 'tiny'

/** One measurement, done by a process of its own. */
export interface Order {
  readonly part: string
  readonly store: StoreName
  readonly url: string
  /** Ours, an older build of ours, or another library. */
  readonly subject: string
  readonly n: number
  /** Begins every key of this measurement. */
  readonly prefix: string
  readonly extent: Extent
  /** When it says what it has, finished or not. */
  readonly deadlineMs: number
}

export type Figures = Readonly<Record<string, number>>

/** The tools of a running measurement. */
export interface Run {
  readonly order: Order
  /** Milliseconds until the deadline. */
  leftMs(): number
  /** Resolves with the promise's value, or with null when the deadline is earlier. */
  within<T>(promise: Promise<T>): Promise<T | null>
  /** Tells how far it is: also what is known of it should it have to be ended. */
  tell(figures: Figures): void
  /** That many `Locks` objects, over one client or pool where the store takes one. */
  open(count: number): Promise<Opened>
}

/** One thing whose cost may grow with the number of something. */
export interface Part {
  readonly name: string
  readonly title: string
  /** The unit of the growing number. */
  readonly unit: string
  /** The figure that the plot shows. */
  readonly plotted: string
  /** How many of it, by store; empty for a store that it is not measured on. */
  sizes(store: StoreName, extent: Extent): readonly number[]
  /** True if the preparation is long: the deadline is three times as late. */
  readonly startsSlowly?: true
  /** Which other libraries take part, with that many. */
  peers?(store: StoreName, n: number, extent: Extent): readonly string[]
  readonly run: (run: Run) => Promise<Figures>
}

/** How many have to be served until a rate means something: small crowds come several times. */
export function timesOf(n: number, extent: Extent): number {
  const enough = extent === 'full' ? 1000 : extent === 'quick' ? 200 : 1
  return Math.max(1, Math.ceil(enough / n))
}

/** Sizes up to what an extent allows. */
export function upTo(sizes: readonly number[], extent: Extent, quick = 100): readonly number[] {
  if (extent === 'tiny') return [2, 4]
  return extent === 'quick' ? sizes.filter((size) => size <= quick) : sizes
}
