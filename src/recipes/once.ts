import type { Duration, Lease } from '../core/api.ts'
import { checkOptions, type NamesOf } from '../core/check.ts'
import { show } from '../core/durations.ts'
import { ConflictError, InvalidArgumentError, LockTimeoutError, quote } from '../errors.ts'
import { functionOf, keepMs, keyFor, type RecipeKit, recordsOf, wholeNumber } from './kit.ts'
import { keepResult, resultOf } from './results.ts'

/** The answer to a second call with the same id. */
export type OnDuplicate = 'wait' | 'replay' | 'skip' | 'error'

export interface OnceOptions {
  /** How long the result is kept: 24 h by default. Later, the same id runs again. */
  ttl?: Duration
  /**
   * `wait` (default): waits while the work runs elsewhere, then returns its result. `replay`: returns the result of finished
   * work, and throws `ConflictError` while it runs. `skip`: returns undefined in both cases. `error`: throws `ConflictError` in both.
   */
  onDuplicate?: OnDuplicate
  /** How long `wait` waits. */
  wait?: Duration
  /** Time to live of the record that says the work is in progress; it is renewed while the work runs. */
  lease?: Duration
  /** Cancels the wait. */
  signal?: AbortSignal
  /** A larger result is not stored, although the work counts as done: 65,536 bytes of JSON by default. */
  maxResultBytes?: number
}

export type OnceWork<T> = (lease: Lease) => Promise<T> | T

export const ONCE_OPTIONS: NamesOf<OnceOptions> = {
  ttl: true,
  onDuplicate: true,
  wait: true,
  lease: true,
  signal: true,
  maxResultBytes: true,
}
const CHOICES: readonly OnDuplicate[] = ['wait', 'replay', 'skip', 'error']
const LARGEST_RESULT_BYTES = 16 * 1024 * 1024

/**
 * Runs the work once per id. Work that throws leaves no record, so that a retry may run it again. Work that returned never
 * runs again: neither a lost lease nor a result that cannot be stored turns its success into a failure.
 */
export async function once<T>(
  kit: RecipeKit,
  id: string,
  options: OnceOptions,
  work: OnceWork<T>,
): Promise<T | undefined> {
  functionOf('work', work)
  const {
    ttl = '24h',
    onDuplicate = 'wait',
    wait,
    lease: leaseTtl,
    signal,
    maxResultBytes = 65_536,
  } = checkOptions('options', options, ONCE_OPTIONS)
  const ttlMs = keepMs('ttl', ttl)
  wholeNumber('maxResultBytes', maxResultBytes, 2, LARGEST_RESULT_BYTES)
  if (!CHOICES.includes(onDuplicate))
    throw new InvalidArgumentError(
      'onDuplicate',
      `must be one of ${CHOICES.join(', ')}, not ${show(onDuplicate)}`,
    )
  const records = recordsOf(kit, 'once')
  const key = keyFor('once', 'id', id)
  const name = kit.nameOf(key)

  const found = await records.read(name)
  if (found !== null) return duplicate(id, onDuplicate, found.value)

  let granted = false
  let outcome: { readonly value: T | undefined } | null = null
  const run = async (lease: Lease): Promise<void> => {
    granted = true
    // A call that waited may come after one that finished.
    const finished = await records.read(name)
    if (finished !== null) {
      outcome = { value: duplicate(id, onDuplicate, finished.value) }
      return
    }
    const result = await work(lease)
    outcome = { value: result }
    await keepResult(kit, lease, id, { name, result, maxBytes: maxResultBytes, ttlMs })
  }
  const patience = onDuplicate === 'wait' ? wait : 0
  const acquire = {
    ...(leaseTtl === undefined ? {} : { ttl: leaseTtl }),
    ...(patience === undefined ? {} : { wait: patience }),
    ...(signal === undefined ? {} : { signal }),
  }
  try {
    await kit.locks.using(key, acquire, run)
  } catch (error) {
    const isBusy = !granted && error instanceof LockTimeoutError && onDuplicate !== 'wait'
    if (isBusy && onDuplicate === 'skip') return undefined
    if (isBusy) throw new ConflictError(`${quote(id)} is in progress`)
    // Only the loss of the lease is reported after the outcome.
    if (outcome === null) throw error
  }
  return (outcome as { readonly value: T | undefined } | null)?.value
}

function duplicate<T>(id: string, onDuplicate: OnDuplicate, text: string): T | undefined {
  if (onDuplicate === 'skip') return undefined
  if (onDuplicate === 'error') throw new ConflictError(`${quote(id)} was done already`)
  return resultOf<T>(id, text)
}

/** Wraps a function so that it runs once per id, computed from its arguments. */
export function idempotent<A extends unknown[], T>(
  kit: RecipeKit,
  idOf: (...args: A) => string,
  work: (...args: A) => Promise<T> | T,
  options: OnceOptions = {},
): (...args: A) => Promise<T | undefined> {
  functionOf('idOf', idOf)
  functionOf('work', work)
  checkOptions('options', options, ONCE_OPTIONS)
  return async (...args) => once(kit, idOf(...args), options, () => work(...args))
}
