import {
  type Claim,
  type Clock,
  EMPTY,
  forgetAtMs,
  type KeyState,
  type Member,
} from '../../../model/index.ts'
import { decodeState, encodeState, writeWaiter } from '../format.ts'
import { FORGET_SLACK_MS, RULES } from './rules.ts'
import type { Found, KeyRow, RecordRow } from './tables.ts'

export function stateOf(key: string, row: KeyRow | undefined): KeyState {
  if (row === undefined) return EMPTY
  const state = decodeState(key, row.state, { seq: row.seq, seqKeptUntilMs: row.forgetAtMs })
  const [hold] = state.holds
  const [member] = hold?.members ?? []
  if (row.holder === null || hold === undefined || member === undefined) return state
  return { ...state, holds: [{ ...hold, members: [{ ...member, expiresAtMs: row.expiresAtMs }] }] }
}

/** What is written of a state; `before` is the row that it replaces. */
export function rowOf(state: KeyState, before: KeyRow | undefined, nowMs: number): Omit<KeyRow, 'revision'> {
  const sole = soleMember(state, nowMs)
  const neededMs = forgetAtMs(state)
  const keptMs = before?.forgetAtMs ?? 0
  return {
    seq: state.seq,
    holder: sole?.id ?? null,
    expiresAtMs: sole?.expiresAtMs ?? 0,
    state: encodeState(state, nowMs),
    forgetAtMs: keptMs >= neededMs ? keptMs : neededMs + FORGET_SLACK_MS,
  }
}

/** The state of a key that a claim has alone, in two parts: between them stands the time of the grant. */
export function soleState(claim: Claim, inbox: string | null): { head: string; tail: string } {
  const { id, owner, mode, label, actor, meta, lockDelayMs } = claim
  const member: Member = { id, expiresAtMs: 0, sinceMs: 0, label, actor, meta, lockDelayMs, inbox }
  const text = encodeState({ ...EMPTY, holds: [{ owner, mode, seq: 0, members: [member] }] }, 0) as string
  const cut = `${JSON.stringify(id)},0,`
  const at = text.indexOf(cut) + cut.length
  return { head: text.slice(0, at), tail: text.slice(at + 1) }
}

/** A place in the line, without the times at its end. */
export function waiterText(claim: Claim, inbox: string | null): string {
  return JSON.stringify(writeWaiter({ claim, inbox, joinedAtMs: 0, expiresAtMs: 0 }).slice(0, -2))
}

/** How long after the grant the row is needed. */
export function neededMs({ ttlMs, lockDelayMs }: Claim): number {
  return Math.max(RULES.keepSeqMs, ttlMs + lockDelayMs)
}

export function foundOf(row: RecordRow | undefined, nowMs: number): Found {
  if (row === undefined) return { record: null, version: 0 }
  const { version, value, expiresAtMs } = row
  if (value === null || (expiresAtMs !== null && expiresAtMs <= nowMs)) return { record: null, version }
  return { record: { value: JSON.parse(value), version, expiresAtMs }, version }
}

/** What is written of a record. As JSON, because databases refuse U+0000 and lone surrogates in a text. */
export function recordRowOf({ record, version }: Found, { nowMs }: Clock): RecordValues {
  if (record === null) return { version, value: null, expiresAtMs: null, forgetAtMs: nowMs + RULES.keepSeqMs }
  const { value, expiresAtMs } = record
  const forgetAt = expiresAtMs === null ? null : expiresAtMs + RULES.keepSeqMs
  return { version: record.version, value: JSON.stringify(value), expiresAtMs, forgetAtMs: forgetAt }
}

export interface RecordValues extends Omit<RecordRow, 'revision'> {
  readonly forgetAtMs: number | null
}

/** The only claim of a key that has no more to say than that it is held by it. */
function soleMember({ holds, line, closedUntilMs }: KeyState, nowMs: number): Member | undefined {
  if (holds.length !== 1 || line.length > 0 || closedUntilMs > nowMs) return undefined
  const members = holds[0]?.members ?? []
  return members.length === 1 ? members[0] : undefined
}
