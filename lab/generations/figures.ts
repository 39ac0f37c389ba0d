import type { TimeSpan } from './processes/history.ts'

/** Figures for a terminal and as pictures. Times in milliseconds from the beginning. */
export type Figure = Timeline | Plot | Bars | Table

export type BarKind = 'waits' | 'inside' | 'paused' | 'stray' | 'key' | 'overlap'
export type MarkKind = 'killed' | 'sold' | 'refused' | 'gaveUp'

export interface Bar extends TimeSpan {
  readonly kind: BarKind
  /** Whose the key was. */
  readonly owner?: string
}

export interface Mark {
  readonly kind: MarkKind
  readonly atMs: number
}

export interface TimelineRow {
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
  readonly lanes: readonly TimelineRow[]
  /** The final stock, and if it matches the sales. */
  readonly footer: string
  readonly exact: boolean
}

/** Lines over the same places of the horizontal axis, which are drawn at equal distances. */
export interface Plot {
  readonly kind: 'plot'
  readonly title: string
  readonly across: string
  readonly up: string
  readonly places: readonly number[]
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[]
}

export type Tone = 'good' | 'bad' | 'plain'

/** Amounts beside each other, against a mark that they should not pass. */
export interface Bars {
  readonly kind: 'bars'
  readonly title: string
  readonly bars: readonly {
    readonly name: string
    readonly value: number
    readonly tone: Tone
    readonly remark: string
  }[]
  readonly limit: { readonly value: number; readonly name: string } | null
}

export interface Table {
  readonly kind: 'table'
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}
