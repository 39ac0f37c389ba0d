import type { Duration, Lease } from '../core/api.ts'
import { show } from '../core/durations.ts'
import { ConflictError, InvalidArgumentError, quote } from '../errors.ts'
import {
  functionOf,
  type Kit,
  keepMs,
  keyFor,
  packed,
  recordsOf,
  unpacked,
  wholeNumber,
  writeUnder,
} from './kit.ts'

/** What a second caller with the same id gets. */
export type OnDuplicate = 'wait' | 'replay' | 'skip' | 'error'

export interface OnceOptions {
  /** How long the result is kept: 24 h by default. Later, the same id runs again. */
  ttl?: Duration
  /**
   * `wait` (default): waits while the work runs elsewhere, then gets its result. `replay`: gets the result of finished
   * work, and `ConflictError` while it runs. `skip`: gets undefined in both cases. `error`: `ConflictError` in both.
   */
  onDuplicate?: OnDuplicate
  /** How long `wait` waits. */
  wait?: Duration
  /** Time to live of the mark that the work is in progress; it is renewed while the work runs. */
  lease?: Duration
  /** Cancels the wait. */
  signal?: AbortSignal
  /** Larger results are refused: 65,536 bytes of JSON by default. */
  maxResultBytes?: number
}

export type OnceWork<T> = (lease: Lease) => Promise<T> | T

const CHOICES: readonly OnDuplicate[] = ['wait', 'replay', 'skip', 'error']
const LARGEST_RESULT_BYTES = 16 * 1024 * 1024

/** Runs the work once per id. A failure leaves no mark, so that a retry may run it again. */
export async function once<T>(
  kit: Kit,
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
  } = options
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

  const run = async (lease: Lease): Promise<T | undefined> => {
    // Whoever waited may come after the one that finished.
    const finished = await records.read(name)
    if (finished !== null) return duplicate(id, onDuplicate, finished.value)
    const result = await work(lease)
    await writeUnder(kit, lease, packed('the result of the work', result, maxResultBytes), ttlMs)
    return result
  }
  const acquire = {
    ...(leaseTtl === undefined ? {} : { ttl: leaseTtl }),
    ...(wait === undefined ? {} : { wait }),
    ...(signal === undefined ? {} : { signal }),
  }
  if (onDuplicate === 'wait') return kit.locks.using(key, acquire, run)
  const lease = await kit.locks.tryAcquire(key, acquire)
  if (lease === null) {
    if (onDuplicate === 'skip') return undefined
    throw new ConflictError(`${quote(id)} is in progress`)
  }
  try {
    return await run(lease)
  } finally {
    await lease[Symbol.asyncDispose]()
  }
}

function duplicate<T>(id: string, onDuplicate: OnDuplicate, text: string): T | undefined {
  if (onDuplicate === 'skip') return undefined
  if (onDuplicate === 'error') throw new ConflictError(`${quote(id)} was done already`)
  return unpacked<T>(text)
}

/** The function, run once per id that its arguments have. */
export function idempotent<A extends unknown[], T>(
  kit: Kit,
  idOf: (...args: A) => string,
  work: (...args: A) => Promise<T> | T,
  options: OnceOptions = {},
): (...args: A) => Promise<T | undefined> {
  functionOf('idOf', idOf)
  functionOf('work', work)
  return async (...args) => once(kit, idOf(...args), options, () => work(...args))
}
