import { ConflictError, InvalidArgumentError } from '../../../errors.ts'
import { FORGET_SLACK_MS, SQL_RULES } from '../../shared/sql.ts'

import { orConflict } from '../server-errors.ts'
import type { TransactionClaim } from '../tables/database.ts'
import type { TableNames } from '../tables/names.ts'
import type { Row } from '../tables/rows.ts'
import type { MysqlResult, Value } from './clients/client.ts'
import { bytes } from './clients/client.ts'
import { mysqlResultOf } from './clients/mysql2.ts'

import { US } from './statements.ts'

type Run = (text: string, values: readonly Value[]) => Promise<MysqlResult>

interface Shape {
  readonly getConnection?: unknown
  readonly promise?: () => Shape
  readonly query?: (options: object, values: unknown[]) => Promise<unknown>
  readonly batch?: unknown
}

/** Takes a row that no other transaction has, if it is unchanged or still free. */
export function claimIn({ keys }: TableNames, tx: object): TransactionClaim {
  const run = runnerOf(tx as Shape)
  const lock = `SELECT revision, holder, others FROM ${keys} WHERE \`key\` = ? FOR UPDATE`
  const claim = `UPDATE ${keys} k SET k.revision = k.revision + 1, k.seq = LAST_INSERT_ID(GREATEST(k.seq + 1, ${US})),
    k.forget_at = GREATEST(k.forget_at, ${US} DIV 1000 + ${SQL_RULES.keepSeqMs + FORGET_SLACK_MS})
    WHERE k.\`key\` = ?`
  const take: TransactionClaim['take'] = async (key, { revision }) => {
    await requireTransaction(run)
    const [row] = (await run(`${lock} SKIP LOCKED`, [bytes(key)])).rows
    if (row === undefined) return null
    if (!isFree(row) || Number(row.revision) < revision) throw overtaken(key)
    return (await run(claim, [bytes(key)])).insertId
  }
  /** MySQL cannot bound the wait of one statement for a row: there the caller's own timeout ends a deadlock. */
  const wait: TransactionClaim['wait'] = async (key, insideMs) => {
    if (!(await requireTransaction(run))) return
    const bound = `SET STATEMENT innodb_lock_wait_timeout = ${Math.ceil(insideMs / 1000)} FOR `
    const locked = await run(bound + lock, [bytes(key)]).catch((error) => {
      if (error?.errno === WAITED_TOO_LONG) return null
      throw orConflict(error)
    })
    if (locked?.rows[0] !== undefined && !isFree(locked.rows[0])) throw overtaken(key)
  }
  return { take, wait }
}

function isFree({ holder, others }: Row): boolean {
  return holder === null && Number(others) === 0
}

const WAITED_TOO_LONG = 1205

/** A row lock lasts until the transaction ends. */
function overtaken(key: string): ConflictError {
  return new ConflictError(
    `${JSON.stringify(key)} was taken at the same moment, and the transaction keeps its row locked now: roll it back and try again`,
  )
}

/**
 * Outside of a transaction the lock would end before the work begins. Only MariaDB can tell. Returns whether the server is MariaDB.
 */
async function requireTransaction(run: Run): Promise<boolean> {
  const open = await run('SELECT @@in_transaction AS open', []).catch((error) => {
    if (error?.errno === 1193) return null
    throw error
  })
  if (open !== null && Number(open.rows[0]?.open) !== 1)
    throw new InvalidArgumentError('tx', 'must have begun a transaction')
  return open !== null
}

function runnerOf(tx: Shape): Run {
  const given = typeof tx?.promise === 'function' ? tx.promise() : tx
  if (typeof given?.query === 'function' && given.getConnection === undefined) {
    const connection = given as Required<Shape>
    // mysql2 answers with the result and a description of its columns, mariadb with the result alone.
    const isMariadb = typeof connection.batch === 'function'
    return async (text, values) => {
      const answer = await connection.query({ sql: text, rowsAsArray: false }, values as unknown[])
      return mysqlResultOf(isMariadb ? answer : (answer as readonly unknown[])[0])
    }
  }
  throw new InvalidArgumentError(
    'tx',
    'must be the connection that the transaction runs on, of mysql2 or of mariadb, and not its pool',
  )
}
