import { UnsupportedError } from '../../errors.ts'
import type { Hold, KeyState } from '../../model/index.ts'

/** The version of everything that is written to a database. A newer one is refused, never guessed at. */
export const FORMAT = 1

/** What a row remembers of a key beside its state: both survive the state, which is null for a free key. */
export interface Remembered {
  readonly seq: number
  readonly seqKeptUntilMs: number
}

interface Written {
  readonly format: number
  readonly holds: readonly (Omit<Hold, 'seq'> & { readonly seq?: number })[]
  readonly line: KeyState['line']
  readonly closedUntilMs: number
}

/** A hold with the row's own sequence number is written without it, so that the row's is the only copy. */
export function encodeState(state: KeyState, nowMs: number): string | null {
  if (isFree(state, nowMs)) return null
  const holds = state.holds.map((hold) => (hold.seq === state.seq ? { ...hold, seq: undefined } : hold))
  return JSON.stringify({ format: FORMAT, holds, line: state.line, closedUntilMs: state.closedUntilMs })
}

export function decodeState(text: string | null, { seq, seqKeptUntilMs }: Remembered): KeyState {
  if (text === null) return { holds: [], line: [], seq, seqKeptUntilMs, closedUntilMs: 0 }
  const written = JSON.parse(text) as Written
  refuseNewer(written.format, 'a key')
  const holds = written.holds.map((hold) => ({ ...hold, seq: hold.seq ?? seq }))
  return { holds, line: written.line, seq, seqKeptUntilMs, closedUntilMs: written.closedUntilMs }
}

export function refuseNewer(format: number, what: string): void {
  if (format <= FORMAT) return
  throw new UnsupportedError(
    `the database holds ${what} in format ${format}, and this version of holdfast knows formats up to ${FORMAT}: upgrade holdfast in this process`,
  )
}

function isFree({ holds, line, closedUntilMs }: KeyState, nowMs: number): boolean {
  return holds.length === 0 && line.length === 0 && closedUntilMs <= nowMs
}
