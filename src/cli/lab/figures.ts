import type { Span } from './cast/history.ts'

/** What can be drawn, on a terminal and as a picture. Times in milliseconds from the beginning. */
export type Figure = Timeline

export type BarKind = 'waits' | 'inside' | 'paused' | 'stray' | 'key' | 'overlap'
export type MarkKind = 'killed' | 'sold' | 'refused' | 'gaveUp'

export interface Bar extends Span {
  readonly kind: BarKind
  /** Whose the key was. */
  readonly owner?: string
}

export interface Mark {
  readonly kind: MarkKind
  readonly atMs: number
}

export interface Lane {
  readonly name: string
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
  /** A word about it at the end of the row. */
  readonly remark: string
}

export interface Timeline {
  readonly kind: 'timeline'
  readonly title: string
  readonly lengthMs: number
  readonly ttlMs: number
  readonly lanes: readonly Lane[]
  /** What the stock became. */
  readonly footer: string
}
