import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Cell, Row } from './run.ts'

const RESULTS = new URL('../../docs/results/outages/', import.meta.url)

/** The result of every call under every fault of one store. */
export interface Result {
  readonly store: string
  readonly rows: readonly Row[]
  readonly notTried: Readonly<Record<string, string>>
}

/** Calls that ended late or never, and errors that say nothing. */
export function failuresOf({ store, rows }: Result): string[] {
  return rows.flatMap(({ fault, cells }) =>
    cells
      .filter(({ verdict }) => verdict !== 'ok')
      .map((cell) => `${store}, ${fault}: ${cell.call}: ${textOf(cell)}${messageOf(cell)}`),
  )
}

/** Calls as rows and faults as columns, with their titles in the first row. */
export function tableOf({ rows }: Result): string[][] {
  const calls = rows[0]?.cells.map(({ call }) => call) ?? []
  return [
    ['call', ...rows.map(({ fault }) => fault)],
    ...calls.map((call) => [
      call,
      ...rows.map(({ cells }) => textOf(cells.find((cell) => cell.call === call))),
    ]),
  ]
}

/** The slowest call and the recovery of each fault. */
export function summaryOf({ store, rows, notTried }: Result): string[][] {
  const played = rows.map(({ fault, cells }) => {
    const during = cells.filter(({ call }) => call !== 'recovery')
    const slowest = during.reduce((one, other) => (other.ms > one.ms ? other : one))
    const recovery = textOf(cells.find(({ call }) => call === 'recovery'))
    const ended = during.filter(({ verdict }) => verdict !== 'no end').length
    return [store, fault, `${ended} of ${during.length}`, `${slowest.call}: ${textOf(slowest)}`, recovery]
  })
  const others = Object.entries(notTried).map(([fault, why]) => [store, fault, 'not tried', why, '–'])
  return [...played, ...others]
}

export const SUMMARY_TITLES = ['store', 'fault', 'calls that ended', 'the slowest', 'recovery']

/** The words of the table for codes. */
const WORDS: Readonly<Record<string, string>> = {
  STORE_UNAVAILABLE: 'unavailable',
  LOCK_TIMEOUT: 'timeout',
  LEASE_LOST: 'lost',
}

function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return '–'
  const seconds = `${(cell.ms / 1000).toFixed(1)} s`
  if (cell.verdict === 'no end') return `NO END (${seconds})`
  if (cell.verdict === 'raw error') return `RAW ERROR ${seconds}`
  const text = `${WORDS[cell.outcome] ?? cell.outcome} ${seconds}`
  return cell.verdict === 'late' ? `${text}, LATE` : text
}

function messageOf({ verdict, outcome }: Cell): string {
  return verdict === 'raw error' ? `, ${outcome}` : ''
}

/** Columns of equal width, for a terminal. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

export function keep(result: Result): string {
  mkdirSync(RESULTS, { recursive: true })
  writeFileSync(fileOf(result.store), `${JSON.stringify(result, null, 2)}\n`)
  return `docs/results/outages/${result.store}.json`
}

export function kept(stores: readonly string[]): Result[] {
  return stores
    .filter((store) => existsSync(fileOf(store)))
    .map((store) => JSON.parse(readFileSync(fileOf(store), 'utf8')) as Result)
}

function fileOf(store: string): URL {
  return new URL(`${store}.json`, RESULTS)
}
