import { ConflictError, InvalidArgumentError } from '../../../errors.ts'
import type { TableNames } from '../server/names.ts'
import { FORGET_SLACK_MS, RULES } from '../server/rules.ts'
import type { KeyRow } from '../server/tables.ts'
import type { Row } from './clients/client.ts'

type Run = (text: string, values: readonly unknown[]) => Promise<readonly Row[]>

interface Shape {
  readonly totalCount?: unknown
  readonly query?: (text: string, values: unknown[]) => Promise<{ rows: readonly Row[] }>
  readonly unsafe?: (text: string, values: unknown[]) => Promise<readonly Row[]>
  readonly savepoint?: unknown
  readonly release?: unknown
}

/** The row that was read, unless somebody has it or has changed it. */
export function claimIn({ keys }: TableNames, tx: object) {
  const run = runnerOf(tx as Shape)
  const take = `WITH t AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us)
    UPDATE ${keys} k SET revision = k.revision + 1, seq = greatest(k.seq + 1, t.us), holder = NULL, expires_at = 0,
      state = NULL, forget_at = greatest(k.forget_at, t.us / 1000 + ${RULES.keepSeqMs + FORGET_SLACK_MS})
    FROM t WHERE k.key = (SELECT key FROM ${keys} WHERE key = $1 AND revision = $2 FOR UPDATE SKIP LOCKED)
    RETURNING k.seq`
  // Above READ COMMITTED a transaction sees everything as it was at its first statement, also this row.
  const look = `SELECT current_setting('transaction_isolation') IN ('repeatable read', 'serializable') AS frozen,
    (SELECT revision FROM ${keys} WHERE key = $1) AS revision`
  return async (key: string, { revision }: KeyRow): Promise<number | null> => {
    const [row] = await run(take, [key, revision]).catch((error) => {
      throw error?.code === '40001' ? outdated(key) : error
    })
    if (row === undefined) {
      const [seen] = await run(look, [key])
      if (seen?.frozen === true && Number(seen.revision) !== revision) throw outdated(key)
      return null
    }
    await requireTransaction(run)
    return Number(row.seq)
  }
}

function outdated(key: string): ConflictError {
  return new ConflictError(
    `${JSON.stringify(key)} was used after the transaction had begun to see its snapshot: roll it back and try again`,
  )
}

/** Outside of a transaction the lock would be over before the work begins. */
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
