/** Every error of Holdfast: class, code and meaning. `docs/errors.md` is generated from this table. */
export const ERRORS = {
  LOCK_TIMEOUT: {
    name: 'LockTimeoutError',
    meaning: 'The key was held for as long as the caller was ready to wait.',
    advice:
      'Wait longer, make the work under the lock shorter, or look at the holder that the message names. If `heldHere` is true, the caller may be waiting for itself: `{ reentrant: true }`.',
  },
  LEASE_LOST: {
    name: 'LeaseLostError',
    meaning:
      'The lease ended before it was released: it expired, was evicted or was adopted by another process.',
    advice:
      'Treat what was done under the lease as doubtful, and give its token to the resource so that late writes are refused.',
  },
  STORE_UNAVAILABLE: {
    name: 'StoreError',
    meaning: 'The store did not answer, or not in time. Whether the request took effect is unknown.',
    advice:
      'Look at `cause`. A claim that may have been made is released in the background or ends with its ttl.',
  },
  INVALID_ARGUMENT: {
    name: 'InvalidArgumentError',
    meaning:
      'An argument is outside its limits, or an option, a parameter of a URL or an event is unknown; the message names it, and the limit or the nearest name.',
    advice: 'Correct the call.',
  },
  UNSUPPORTED: {
    name: 'UnsupportedError',
    meaning: 'The store cannot do this; the message says why.',
    advice: 'Choose a store that can: see docs/guarantees.md.',
  },
  CLOSED: {
    name: 'ClosedError',
    meaning: 'The `Locks` object was closed.',
    advice: 'Close it after the last use.',
  },
  CONFLICT: {
    name: 'ConflictError',
    meaning:
      'The claim contradicts how the key is in use, or was given up to end a deadlock (`cycle`), and waiting cannot help; or an optimistic change met with others at every one of its `tries`; or a request of an inventory was used before, for another operation, buyer, count or list of units.',
    advice:
      'Use one mode and one limit per key; release a shared lease before asking for an exclusive one. After a deadlock let go of everything and begin again; to have none, take several keys with `all`. Under optimistic changes that collide often, take a lock instead. Give every purchase and every delivery a request of its own.',
  },
  TRANSACTION_FAILED: {
    name: 'TransactionError',
    meaning:
      'Commands of a Redis transaction were refused or failed. `applied` says whether the others took effect: Redis does not roll back.',
    advice: 'Look at `outcomes`, which has one entry for each command, and repair what was done in part.',
  },
  STALE_TOKEN: {
    name: 'StaleTokenError',
    meaning: 'The resource has already seen a higher fencing token; the write was refused.',
    advice: 'Nothing to repair: a newer holder is at work. Stop.',
  },
} as const

export type ErrorCode = keyof typeof ERRORS

/** The base of every error of Holdfast. Match on `code`, which never changes. */
export class LockError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.name = ERRORS[code].name
  }
}

/** A waiter's knowledge of the holders and waiters before it. */
export interface TimeoutDetails {
  readonly key: string
  readonly waitedMs: number
  /** The holder of the key at the last look. */
  readonly holder: string | null
  readonly heldMs: number | null
  /** True if this `Locks` object is known to be the holder: perhaps the caller itself, further up. */
  readonly heldHere: boolean
  /** False if the wait ended before the store's first answer: it is unknown whether the key was free. */
  readonly answered: boolean
  /** Our last known position in the queue, 1 is next; 0 when not in the queue. */
  readonly position: number
}

export class LockTimeoutError extends LockError {
  readonly key: string
  readonly waitedMs: number
  readonly holder: string | null
  readonly heldMs: number | null
  readonly heldHere: boolean
  readonly answered: boolean
  readonly position: number

  constructor(details: TimeoutDetails) {
    super('LOCK_TIMEOUT', timeoutMessage(details))
    this.key = details.key
    this.waitedMs = details.waitedMs
    this.holder = details.holder
    this.heldMs = details.heldMs
    this.heldHere = details.heldHere
    this.answered = details.answered
    this.position = details.position
  }
}

export class LeaseLostError extends LockError {
  readonly key: string
  /** The result of the work, which ended although its lease was lost; set by `using`. */
  result: unknown

  constructor(key: string, why: string, options?: { cause?: unknown }) {
    super('LEASE_LOST', `the lease on ${quote(key)} was lost: ${why}`, options)
    this.key = key
    this.result = undefined
  }
}

export class StoreError extends LockError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('STORE_UNAVAILABLE', message, options)
  }
}

/**
 * The error of a server that cannot be reached. `server` names hosts and never a password; the innermost cause has the code,
 * the host and the port that an operator needs.
 */
export function unreachable(server: string, cause: unknown): StoreError {
  const innermost = innermostOf(cause)
  return new StoreError(`${server} cannot be reached: ${whyOf(innermost)}`, { cause: innermost })
}

export function innermostOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error
}

/** The message of an error. An `AggregateError` for all addresses of a host has none of its own. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(whyOf).join(', ')
  return error.message || error.name
}

export class InvalidArgumentError extends LockError {
  readonly argument: string

  constructor(argument: string, problem: string) {
    super('INVALID_ARGUMENT', `${argument} ${problem}`)
    this.argument = argument
  }
}

export class UnsupportedError extends LockError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('UNSUPPORTED', message, options)
  }
}

export class ClosedError extends LockError {
  constructor(message = 'these locks are closed') {
    super('CLOSED', message)
  }
}

/** One member of a cycle of waits: it waits for a key that the next one holds, and the last one waits for the first. */
export interface DeadlockStep {
  /** The given name; `#` and a number for an async context without one; null for a claim that is only in the queue. */
  readonly actor: string | null
  /** The label of the process. */
  readonly label: string
  readonly waitsFor: string
  readonly waitedMs: number
  /** The keys that it keeps from others while it waits. */
  readonly holds: readonly string[]
  /** How long it has held the key that the one before it waits for; null for a claim that is only in the queue. */
  readonly heldMs: number | null
}

export class ConflictError extends LockError {
  /** The number of tries of an optimistic change; null for a claim that contradicts the use of its key. */
  readonly tries: number | null
  /** The cycle of waits, when the claim was given up to end a deadlock; else null. */
  readonly cycle: readonly DeadlockStep[] | null

  constructor(message: string, tries: number | null = null, cycle: readonly DeadlockStep[] | null = null) {
    super('CONFLICT', message)
    this.tries = tries
    this.cycle = cycle
  }
}

/** The outcome of one command of a transaction. */
export interface CommandOutcome {
  readonly command: string
  /** The server's answer; undefined for a command that failed or was not run. */
  readonly reply: unknown
  readonly error: Error | null
}

export class TransactionError extends LockError {
  readonly outcomes: readonly CommandOutcome[]
  /** True if the commands without an error took effect. */
  readonly applied: boolean

  constructor(message: string, outcomes: readonly CommandOutcome[], applied: boolean) {
    super('TRANSACTION_FAILED', message)
    this.outcomes = outcomes
    this.applied = applied
  }
}

export class StaleTokenError extends LockError {
  constructor(message: string) {
    super('STALE_TOKEN', message)
  }
}

/** A key in the form that messages show: quoted, and cut if it is long. */
export function quote(key: string): string {
  return JSON.stringify(key.length > 80 ? `${key.slice(0, 77)}...` : key)
}

function timeoutMessage(details: TimeoutDetails): string {
  const { key, waitedMs, holder, heldMs, heldHere, answered, position } = details
  if (!answered)
    return `the wait of ${Math.round(waitedMs)} ms for ${quote(key)} was shorter than one answer of the store`
  const parts = [`${quote(key)} was not free within ${Math.round(waitedMs)} ms`]
  if (holder !== null)
    parts.push(`held by ${holder}${heldMs === null ? '' : ` for ${Math.round(heldMs)} ms`}`)
  if (position > 0) parts.push(`${position === 1 ? 'next' : `number ${position}`} in the queue`)
  if (heldHere)
    parts.push(
      'this process holds it itself: a nested using needs { reentrant: true }, and so does the outer',
    )
  return parts.join('; ')
}
