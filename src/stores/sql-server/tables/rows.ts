import type { Claim, Clock } from '../../../model/index.ts'
import { RULES } from '../../shared/rules.ts'

import type { RecordRow, VersionedRecord } from './database.ts'

/** How long after the grant the row is needed. */
export function neededMs({ ttlMs, lockDelayMs }: Claim): number {
  return Math.max(RULES.keepSeqMs, ttlMs + lockDelayMs)
}

export function foundOf(row: RecordRow | undefined, nowMs: number): VersionedRecord {
  if (row === undefined) return { record: null, version: 0 }
  const { version, value, expiresAtMs } = row
  if (value === null || (expiresAtMs !== null && expiresAtMs <= nowMs)) return { record: null, version }
  return { record: { value: JSON.parse(value), version, expiresAtMs }, version }
}

/** What is written of a record. As JSON, because databases refuse U+0000 and lone surrogates in a text. */
export function recordRowOf({ record, version }: VersionedRecord, { nowMs }: Clock): RecordValues {
  if (record === null) return { version, value: null, expiresAtMs: null, forgetAtMs: nowMs + RULES.keepSeqMs }
  const { value, expiresAtMs } = record
  // From then on its version is all that is kept, for a day: see the clean-up.
  return { version: record.version, value: JSON.stringify(value), expiresAtMs, forgetAtMs: expiresAtMs }
}

export interface RecordValues extends Omit<RecordRow, 'revision'> {
  readonly forgetAtMs: number | null
}
