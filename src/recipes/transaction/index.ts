import { checkFunction, checkOptions, checkRuntime, checkSignal, type NamesOf } from '../../core/check.ts'
import { type Duration, durationMs, show } from '../../core/durations.ts'
import type { Runtime } from '../../core/runtime.ts'
import { ConflictError, InvalidArgumentError, LockError, StoreError, TransactionError } from '../../errors.ts'
import { type Transaction, TransactionAttempt } from './attempt.ts'
import { commit } from './commit.ts'
import type { TransactionClient, TransactionConnection } from './connection.ts'
import { DeadlinePassed, TransactionDeadline } from './deadline.ts'
import { ConnectionPool } from './pool.ts'

export type { Transaction } from './attempt.ts'
export type { Argument, TransactionClient } from './connection.ts'

export interface TransactionOptions {
  /** How often the whole is tried when others change the keys meanwhile: default 20. */
  tries?: number
  /** Within this time it is done or given up: default 5 s. */
  timeout?: Duration
  /** Gives up, unless the server was already asked to carry it out. */
  signal?: AbortSignal
  runtime?: Runtime
}

export interface TransactionResult<T> {
  /** The result of the function. */
  readonly value: T
  /** The reply to each queued command. */
  readonly replies: readonly unknown[]
  readonly tries: number
}

const OPTIONS: NamesOf<TransactionOptions> = { tries: true, timeout: true, signal: true, runtime: true }
const DEFAULT_TRIES = 20
const DEFAULT_TIMEOUT_MS = 5000
const LONGEST_TIMEOUT_MS = 86_400_000
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 100
/** A server that does not let go of the keys within this time gets no second chance on this connection. */
const UNWATCH_MS = 1000

/**
 * Changes keys if nobody else changed them meanwhile: WATCH, the function reads and queues, MULTI, EXEC; and again when
 * somebody did. Runs on a connection of its own beside the client. Redis does not roll back: a command that fails does
 * not undo the others, and the `TransactionError` then has the outcome of each.
 *
 * Throws `ConflictError` after the last try, `TransactionError` for commands that were refused or failed, `StoreError` when
 * the server does not answer, whatever the function throws, or the reason of the signal.
 */
export async function transaction<T>(
  client: TransactionClient,
  keys: readonly string[],
  fn: (transaction: Transaction) => Promise<T> | T,
  options: TransactionOptions = {},
): Promise<TransactionResult<T>> {
  const { tries, timeoutMs, signal, runtime } = settingsOf(keys, fn, options)
  const pool = ConnectionPool.of(client, runtime)
  signal?.throwIfAborted()
  const deadline = new TransactionDeadline(timeoutMs, signal, runtime)
  try {
    for (let number = 1; ; number++) {
      const done = await attempt(pool, keys, fn, deadline, runtime)
      if (done !== null) return { ...done, tries: number }
      if (number === tries) throw conflict(keys, number)
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (number - 1), LONGEST_PAUSE_MS)
      await deadline.pause(pauseMs * runtime.random()).catch((error) => {
        throw error instanceof DeadlinePassed ? conflict(keys, number) : error
      })
    }
  } finally {
    deadline.end()
  }
}

/** One try; null when somebody else changed one of the keys. */
async function attempt<T>(
  pool: ConnectionPool,
  keys: readonly string[],
  fn: (transaction: Transaction) => Promise<T> | T,
  deadline: TransactionDeadline,
  runtime: Runtime,
): Promise<{ value: T; replies: readonly unknown[] } | null> {
  const connection = await connectionOf(pool, deadline)
  const current = new TransactionAttempt(connection, deadline.signal)
  let value: T
  try {
    await deadline.within(connection.send('WATCH', keys)).catch((error) => {
      throw failure(error, deadline, 'WATCH')
    })
    value = await deadline.within(Promise.resolve(fn(current))).catch((error) => {
      throw error instanceof DeadlinePassed ? tooSlow(current, deadline) : error
    })
  } catch (error) {
    current.close()
    letGo(pool, connection, runtime)
    throw error
  }
  current.close()
  let known = false
  try {
    const replies = await deadline.withinDeadline(commit(connection, current.queued))
    known = true
    return replies === null ? null : { value, replies }
  } catch (error) {
    known = error instanceof TransactionError
    throw known ? error : failure(error, deadline, 'EXEC')
  } finally {
    // EXEC has ended the watch, whatever it answered; without an answer nobody knows.
    if (known) pool.give(connection)
    else pool.drop(connection)
  }
}

async function connectionOf(
  pool: ConnectionPool,
  deadline: TransactionDeadline,
): Promise<TransactionConnection> {
  const taken = pool.take(deadline.signal)
  try {
    return await deadline.within(taken)
  } catch (error) {
    taken.then((late) => pool.give(late)).catch(() => {})
    throw failure(error, deadline, 'a connection')
  }
}

/** Ends the watch apart from the caller: what comes next on the connection comes after it. */
function letGo(pool: ConnectionPool, connection: TransactionConnection, runtime: Runtime): void {
  let open = true
  const once = (settle: (connection: TransactionConnection) => void) => () => {
    timer.clear()
    if (open) settle(connection)
    open = false
  }
  const drop = once((left) => pool.drop(left))
  const timer = runtime.setTimer(drop, UNWATCH_MS, true)
  connection.send('UNWATCH', []).then(
    once((left) => pool.give(left)),
    drop,
  )
}

function failure(error: unknown, { timeoutMs }: TransactionDeadline, step: string): unknown {
  if (error instanceof LockError) return error
  const effect = step === 'EXEC' ? 'whether it took effect is unknown' : 'nothing was written'
  if (error instanceof DeadlinePassed)
    return new StoreError(`the transaction had no answer (${step}) within ${timeoutMs} ms; ${effect}`)
  if (!(error instanceof Error) || error.name === 'AbortError') return error
  return new StoreError(`the transaction failed (${step}); ${effect}: ${error.message}`, { cause: error })
}

function tooSlow({ reading }: TransactionAttempt, { timeoutMs }: TransactionDeadline): LockError {
  return reading > 0
    ? new StoreError(`the transaction had no answer (reading) within ${timeoutMs} ms; nothing was written`)
    : new TransactionError(
        `the function of the transaction took longer than ${timeoutMs} ms; nothing was written`,
        [],
        false,
      )
}

function conflict(keys: readonly string[], tries: number): ConflictError {
  const names = keys.length === 1 ? `${show(keys[0])} was` : `one of ${keys.length} keys was`
  return new ConflictError(
    `${names} changed by others at every one of ${tries} ${tries === 1 ? 'try' : 'tries'}`,
    tries,
  )
}

function settingsOf(keys: readonly string[], fn: unknown, options: TransactionOptions) {
  if (!Array.isArray(keys) || keys.length === 0 || keys.some((key) => typeof key !== 'string'))
    throw new InvalidArgumentError('keys', 'must be a list of at least one key, each a text')
  checkFunction('fn', fn)
  checkOptions('options', options, OPTIONS)
  const { tries = DEFAULT_TRIES, timeout = DEFAULT_TIMEOUT_MS } = options
  if (!Number.isSafeInteger(tries) || tries < 1)
    throw new InvalidArgumentError('tries', `must be a whole number from 1, not ${show(tries)}`)
  const signal = checkSignal('signal', options.signal)
  const timeoutMs = durationMs('timeout', timeout, { minMs: 1, maxMs: LONGEST_TIMEOUT_MS })
  return { tries, timeoutMs, signal, runtime: checkRuntime(options.runtime) }
}
