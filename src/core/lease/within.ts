import { UnsupportedError } from '../../errors.ts'
import { tokenOf } from '../../model/index.ts'
import { timedOut } from '../acquire/waiter.ts'
import type { WithinOptions } from '../api.ts'
import { checkFunction } from '../check.ts'
import type { Engine } from '../engine.ts'
import type { LockRequest } from '../options.ts'

/** A lock that ends with the caller's transaction, by commit or rollback. */
export interface TransactionHold {
  readonly key: string
  readonly token: bigint
  readonly waitedMs: number
}

type WithinWork<T> = (hold: TransactionHold) => Promise<T> | T
export type WithinRest<T> = [WithinWork<T>] | [WithinOptions, WithinWork<T>]

const FIRST_PAUSE_MS = 4
const LONGEST_PAUSE_MS = 50
/** A longer wait may be part of a cycle of transactions, which the database only detects while they wait inside it. */
const SUSPECT_MS = 100
/** With default settings, databases detect a deadlock within a second. */
const LONGEST_INSIDE_MS = 2000

/**
 * Locks the key's row inside the caller's transaction. Nothing needs a release: the row lock of the database ends with the
 * transaction.
 */
export async function within<T>(
  engine: Engine,
  tx: object,
  request: LockRequest,
  work: WithinWork<T>,
): Promise<T> {
  const { store, runtime, client, settings } = engine
  const { transactions } = store
  if (transactions === undefined)
    throw new UnsupportedError(
      `the ${store.traits.name} store keeps its locks apart from your data: only PostgreSQL and MySQL can take one inside a transaction`,
    )
  checkFunction('work', work)
  const { key, storeKey, waitMs } = request
  const longestInsideMs = Math.min(LONGEST_INSIDE_MS, settings.callTimeoutMs / 2)
  const startedAtMs = runtime.nowMs()
  let insideMs = 0
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    request.signal?.throwIfAborted()
    const answer = await client.call('attempt', 1, () => transactions.take(tx, storeKey, insideMs))
    const waitedMs = runtime.nowMs() - startedAtMs
    if (answer.kind === 'granted') return work({ key, token: tokenOf(answer.seq), waitedMs })
    if (waitedMs >= waitMs) {
      const { holder, heldMs } = answer
      throw timedOut(engine, { key, waitedMs, holder, heldMs, heldHere: false, answered: true, position: 0 })
    }
    if (waitedMs >= SUSPECT_MS) insideMs = Math.min(longestInsideMs, waitMs - waitedMs)
    const delayMs = Math.min(pauseMs * (0.5 + runtime.random()), waitMs - waitedMs)
    await new Promise<void>((resolve) => {
      runtime.setTimer(resolve, delayMs, false)
    })
  }
}
