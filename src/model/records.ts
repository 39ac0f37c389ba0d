import { nextSeq } from './token.ts'
import type { Clock } from './types.ts'

/** A small value that a store keeps beside its locks. */
export interface RecordState {
  readonly value: string
  /** Strictly rising per record, also after a removal: an old version never comes back. */
  readonly version: number
  /** Null for a record that stays until it is removed. */
  readonly expiresAtMs: number | null
}

/** The condition of a write or a removal. `held` names a claim that must hold its key at that moment. */
export type RecordCondition =
  | { readonly kind: 'always' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'held'; readonly key: string; readonly id: string }

export type WriteAnswer =
  | { readonly kind: 'written'; readonly version: number }
  | { readonly kind: 'refused'; readonly current: RecordState | null }

/** `left` is what remains; `taken` holds the units of a list, or nothing for a count. */
export type TakeAnswer =
  | {
      readonly kind: 'taken'
      readonly units: readonly string[]
      readonly left: number
      readonly version: number
    }
  | { readonly kind: 'short'; readonly left: number }
  | { readonly kind: 'absent' }

export function alive(record: RecordState | null, nowMs: number): RecordState | null {
  return record === null || (record.expiresAtMs !== null && record.expiresAtMs <= nowMs) ? null : record
}

/** `isHeld` decides the condition `held`, inside the same atomic step. */
export function conditionHolds(
  current: RecordState | null,
  condition: RecordCondition,
  isHeld: () => boolean,
): boolean {
  switch (condition.kind) {
    case 'always':
      return true
    case 'absent':
      return current === null
    case 'version':
      return current !== null && current.version === condition.version
    case 'held':
      return isHeld()
  }
}

export function writtenRecord(
  previousVersion: number,
  value: string,
  ttlMs: number | null,
  clock: Clock,
): RecordState {
  return {
    value,
    version: nextSeq(previousVersion, clock.stampUs),
    expiresAtMs: ttlMs === null ? null : clock.nowMs + ttlMs,
  }
}

/**
 * Takes `count` from a record in one step, all or nothing. The value is either a whole number (a count)
 * or a JSON list of texts (numbered units, taken from its front).
 */
export function takeFromRecord(
  record: RecordState | null,
  count: number,
  clock: Clock,
): { next: RecordState | null; answer: TakeAnswer } {
  if (record === null) return { next: null, answer: { kind: 'absent' } }
  const stock: unknown = JSON.parse(record.value)
  const units = Array.isArray(stock) ? (stock as string[]) : null
  const available = units === null ? stock : units.length
  // Any other value would compare as enough for every request.
  if (typeof available !== 'number' || !Number.isSafeInteger(available)) {
    throw new TypeError('only a whole number or a list can be taken from')
  }
  if (available < count) return { next: record, answer: { kind: 'short', left: available } }
  const left = available - count
  const value = units === null ? String(left) : JSON.stringify(units.slice(count))
  const version = nextSeq(record.version, clock.stampUs)
  return {
    next: { ...record, value, version },
    answer: { kind: 'taken', units: units?.slice(0, count) ?? [], left, version },
  }
}
