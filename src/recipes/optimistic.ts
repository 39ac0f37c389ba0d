import type { Duration } from '../core/api.ts'
import { checkOptions, checkSignal, type NamesOf } from '../core/check.ts'
import { ConflictError, quote } from '../errors.ts'
import type { RecordCondition } from '../model/index.ts'
import { functionOf, keepMs, keyFor, pause, type RecipeKit, recordsOf, wholeNumber } from './kit.ts'
import { packed, unpacked } from './values.ts'

export interface UpdateOptions {
  /** How long the value is stored after this change; for ever by default. */
  ttl?: Duration
  /** The number of tries before `ConflictError`: 25 by default. */
  tries?: number
  /** Ends the tries with the signal's reason. */
  signal?: AbortSignal
  /** Larger values are refused: 65,536 bytes of JSON by default. */
  maxBytes?: number
}

/** Called with the value, or undefined if there is none; returning undefined leaves it unchanged. */
export type Updater<T> = (value: T | undefined) => T | undefined | Promise<T | undefined>

const OPTIONS: NamesOf<UpdateOptions> = { ttl: true, tries: true, signal: true, maxBytes: true }
const LARGEST_BYTES = 16 * 1024 * 1024
const LONGEST_PAUSE_MS = 100

/** Reads, changes and writes back unless another process wrote in between; then retries after a random pause. */
export async function update<T>(
  kit: RecipeKit,
  key: string,
  change: Updater<T>,
  options: UpdateOptions = {},
): Promise<T | undefined> {
  functionOf('change', change)
  const { ttl, tries = 25, signal, maxBytes = 65_536 } = checkOptions('options', options, OPTIONS)
  const ttlMs = ttl === undefined ? null : keepMs('ttl', ttl)
  wholeNumber('tries', tries, 1, 10_000)
  wholeNumber('maxBytes', maxBytes, 2, LARGEST_BYTES)
  checkSignal('signal', signal)
  const records = recordsOf(kit, 'update')
  const name = kit.nameOf(keyFor('value', 'key', key))
  let current = await records.read(name)
  for (let tried = 1; ; tried++) {
    signal?.throwIfAborted()
    const value = current === null ? undefined : unpacked<T>(current.value)
    const next = await change(value)
    if (next === undefined) return value
    const condition: RecordCondition =
      current === null ? { kind: 'absent' } : { kind: 'version', version: current.version }
    const answer = await records.write(name, packed('the new value', next, maxBytes), ttlMs, condition)
    if (answer.kind === 'written') return next
    if (tried === tries)
      throw new ConflictError(`${quote(key)} was changed by others at each of ${tries} tries`, tries)
    await pause(kit, kit.runtime.random() * Math.min(2 ** tried, LONGEST_PAUSE_MS), signal)
    current = await records.read(name)
  }
}
