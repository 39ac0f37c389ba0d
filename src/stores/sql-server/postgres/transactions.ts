import { ConflictError, InvalidArgumentError } from '../../../errors.ts'
import { FORGET_SLACK_MS, SQL_RULES } from '../../shared/sql.ts'

import { orConflict } from '../server-errors.ts'
import type { TransactionClaim } from '../tables/database.ts'
import type { TableNames } from '../tables/names.ts'
import type { Row } from '../tables/rows.ts'

import { longestWait } from './statements.ts'

type Run = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>

interface Shape {
  readonly totalCount?: unknown
  readonly query?: (text: string, values: unknown[]) => Promise<{ rows: readonly Row[] }>
  readonly unsafe?: (text: string, values: unknown[]) => Promise<readonly Row[]>
  readonly savepoint?: unknown
  readonly release?: unknown
}

/** Takes a row that no other transaction has, if it is unchanged or still free; this transaction may have taken it before. */
export function claimIn({ keys }: TableNames, tx: object): TransactionClaim {
  const run = runnerOf(tx as Shape)
  const claim = `WITH t AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us)
    UPDATE ${keys} k SET revision = k.revision + 1, seq = greatest(k.seq + 1, t.us), forget_at = greatest(k.forget_at, t.us / 1000 + ${SQL_RULES.keepSeqMs + FORGET_SLACK_MS})
    FROM t WHERE k.key = (SELECT key FROM ${keys} WHERE key = $1 AND holder IS NULL AND others = 0 AND revision >= $2 FOR UPDATE SKIP LOCKED)
    RETURNING k.seq`
  // Above READ COMMITTED a transaction sees a snapshot from its first statement, of this row too.
  const look = `SELECT current_setting('transaction_isolation') IN ('repeatable read', 'serializable') AS frozen,
    (SELECT revision FROM ${keys} WHERE key = $1) AS revision`
  const take: TransactionClaim['take'] = async (key, { revision }) => {
    const [row] = await run(claim, [key, revision]).catch((error) => {
      throw error?.code === '40001' ? outdated(key) : orConflict(error)
    })
    if (row === undefined) {
      const [seen] = await run(look, [key])
      if (seen?.frozen === true && Number(seen.revision) !== revision) throw outdated(key)
      return null
    }
    await requireTransaction(run)
    return Number(row.seq)
  }
  const wait: TransactionClaim['wait'] = async (key, insideMs) => {
    await run(waitFor(keys, key, insideMs), []).catch((error) => {
      throw orConflict(error)
    })
  }
  return { take, wait }
}

/**
 * Locks the row and undoes that at once, settings included: an error undoes the work of a block of PL/pgSQL. So the transaction keeps
 * nothing of the wait, and a wait that was too long does not abort it. A block takes no parameters, so the key travels as digits.
 */
function waitFor(keys: string, key: string, insideMs: number): string {
  const hex = Buffer.from(key).toString('hex')
  return `DO $holdfast$ BEGIN
    PERFORM set_config('lock_timeout', ${longestWait(Math.ceil(insideMs))}, true);
    PERFORM 1 FROM ${keys} WHERE key = convert_from(decode('${hex}', 'hex'), 'UTF8') FOR UPDATE;
    RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero OR lock_not_available OR serialization_failure THEN NULL;
    END $holdfast$`
}

function outdated(key: string): ConflictError {
  return new ConflictError(
    `${JSON.stringify(key)} was used after the transaction had begun to see its snapshot: roll it back and try again`,
  )
}

/** Outside of a transaction the lock would end before the work begins. */
async function requireTransaction(run: Run): Promise<void> {
  const [row] = await run('SELECT txid_current_if_assigned() IS NOT NULL AS open', [])
  if (row?.open !== true) throw new InvalidArgumentError('tx', 'must have begun a transaction')
}

function runnerOf(tx: Shape): Run {
  if (typeof tx === 'function' && typeof (tx as Shape).unsafe === 'function') {
    const sql = tx as Required<Shape>
    if (typeof sql.savepoint === 'function' || typeof sql.release === 'function')
      return async (text, values) => sql.unsafe(text, values as unknown[])
  } else if (typeof tx === 'object' && tx !== null && typeof tx.query === 'function') {
    const client = tx as Required<Shape>
    if (typeof client.totalCount !== 'number')
      return async (text, values) => (await client.query(text, values as unknown[])).rows
  }
  throw new InvalidArgumentError(
    'tx',
    'must be the client that the transaction runs on, of pg or of postgres, and not its pool',
  )
}
