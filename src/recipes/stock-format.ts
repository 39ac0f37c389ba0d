import { StoreError } from '../errors.ts'
import type { StockHead } from '../model/index.ts'

/** A stored cell, with the revision of the stock that wrote it. */
export interface CellRecord {
  readonly revision: number
  readonly value: unknown
}

/** The last step's changes beside the head: each cell with its value and its expiry. */
export type Journal = Readonly<Record<string, { readonly value: unknown; readonly untilMs: number | null }>>

export interface HeadRecord {
  readonly head: StockHead
  readonly journal: Journal
}

/** Precedes the text: an earlier build wrote bare JSON, and must not read this as its own. */
const FORMAT = 'format 2: '

export function formatHead({ head, journal }: HeadRecord): string {
  return FORMAT + JSON.stringify({ ...head, journal })
}

export function parseHead(key: string, text: string): HeadRecord {
  if (!text.startsWith(FORMAT))
    throw new StoreError(
      `the record ${JSON.stringify(key)} is no stock of this format: another build of holdfast keeps its stock there, or something else does`,
    )
  const { journal, ...head } = JSON.parse(text.slice(FORMAT.length)) as StockHead & { journal: Journal }
  return { head, journal }
}

export function formatCell(record: CellRecord): string {
  return JSON.stringify(record)
}

export function parseCell(text: string): CellRecord {
  return JSON.parse(text) as CellRecord
}

/** The record name of a cell. It has the stock's id, so that a later stock of the same name has other cells. */
export function cellKey(id: string, name: string): string {
  return `stock:${id}:${name}`
}
