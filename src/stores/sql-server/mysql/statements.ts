import { FORGET_SLACK_MS, SQL_RULES } from '../../shared/sql.ts'
import { KEYS_PER_CLEANING, ROWS_PER_CLEANING } from '../tables/database.ts'

import type { TableNames } from '../tables/names.ts'
import type { Row } from '../tables/rows.ts'

import type { MysqlClient, TxStep } from './clients/client.ts'

/** The server's clock at the start of the statement, in UTC, because a local hour may come twice. */
export const US = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`
export const MS = `(${US} DIV 1000)`
/** The server waits fifty seconds for a row lock; MariaDB has a bound for a single statement. */
export const BOUNDED = 'SET STATEMENT innodb_lock_wait_timeout = 1 FOR '

/** Makes a text once for each count of keys: texts are long, and few counts occur. */
export function cachedByCount(make: (count: number) => string): (count: number) => string {
  const made = new Map<number, string>()
  return (count) => {
    let text = made.get(count)
    if (text === undefined) {
      text = make(count)
      made.set(count, text)
    }
    return text
  }
}

/** The same statement several times in one compound statement; the answer counts the rows that each changed. */
export function together(statement: string, count: number): string {
  const steps = Array.from(
    { length: count },
    (_, index) => `${statement}; SET @holdfast_${index} = ROW_COUNT();`,
  )
  const counts = Array.from({ length: count }, (_, index) => `@holdfast_${index} AS done_${index}`)
  return compound(`${steps.join(' ')} COMMIT;`, `SELECT ${counts.join(', ')}`)
}

/** One statement that changes so many rows, or none: then the answer does not say which rows it could not change. */
export function allOrNone(statement: string, count: number): string {
  const decide = `IF @holdfast_done = ${count} THEN COMMIT; ELSE ROLLBACK; END IF;`
  return compound(`${statement}; SET @holdfast_done = ROW_COUNT(); ${decide}`, DONE)
}

/**
 * Runs statements together or not at all. MariaDB takes them as one compound statement, so that a process that stalls in the middle
 * blocks nobody; MySQL takes them one by one. Resolves to the row of `answer`, or null when nothing was done.
 */
export async function atomically(
  client: MysqlClient,
  mariadb: boolean,
  steps: readonly TxStep[],
  answer: TxStep | null = null,
): Promise<Row | null> {
  if (!mariadb) return (await client.transaction(steps)) ? {} : null
  const texts = steps.map(
    ({ text, affects }) =>
      `${text}; ${affects === undefined ? '' : `IF ROW_COUNT() <> ${affects} THEN SET @holdfast_done = 0; END IF;`}`,
  )
  const decide = 'IF @holdfast_done = 1 THEN COMMIT; ELSE ROLLBACK; END IF;'
  const text = compound(`SET @holdfast_done = 1; ${texts.join(' ')} ${decide}`, answer?.text ?? DONE)
  const values = [...steps.flatMap((step) => step.values), ...(answer?.values ?? [])]
  const [row] = (await client.run(text, values)).rows
  return row !== undefined && Number(row.done) === 1 ? row : null
}

const DONE = 'SELECT @holdfast_done AS done'

function compound(steps: string, answer: string): string {
  const restore = 'SET SESSION innodb_lock_wait_timeout = @holdfast_wait;'
  return `BEGIN NOT ATOMIC
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; ${restore} RESIGNAL; END;
    SET @holdfast_wait = @@SESSION.innodb_lock_wait_timeout; SET SESSION innodb_lock_wait_timeout = 1;
    START TRANSACTION; ${steps} ${restore}
    ${answer};
    END`
}

export function recordStatements({ keys, claims, records }: TableNames, mariadb: boolean) {
  const bounded = mariadb ? BOUNDED : ''
  const columns = 'k.`key`, k.revision, k.version, k.value, k.expires_at'
  const into = `INSERT INTO ${records} (\`key\`, revision, version, value, expires_at, forget_at)`
  const set = 'k.revision = k.revision + 1, k.version = ?, k.value = ?, k.expires_at = ?, k.forget_at = ?'
  // Changing the row of the key or of its claim locks it at every isolation level.
  const sole = `l.\`key\` = ? AND l.holder = ? AND l.expires_at > ${MS}`
  const other = `l.\`key\` = ? AND l.id = ? AND l.state = 'held' AND l.expires_at > ${MS}`
  return {
    look: (count: number) => `SELECT ${US} AS us, ${columns} FROM (SELECT 1) one
      LEFT JOIN ${records} k ON k.\`key\` IN (${Array.from({ length: count }, () => '?').join(', ')})`,
    insert: `${bounded}${into} VALUES (?, ${US}, ?, ?, ?, ?)`,
    update: `${bounded}UPDATE ${records} k SET ${set} WHERE k.\`key\` = ? AND k.revision = ?`,
    /** The claim lies in the row of its key, or in one of its own. */
    insertHeld: {
      sole: `${bounded}${into} SELECT ?, ${US}, ?, ?, ?, ? FROM ${keys} l WHERE ${sole} FOR UPDATE`,
      other: `${bounded}${into} SELECT ?, ${US}, ?, ?, ?, ? FROM ${claims} l WHERE ${other} FOR UPDATE`,
    },
    updateHeld: {
      sole: `${bounded}UPDATE ${records} k JOIN ${keys} l ON ${sole} SET ${set}, l.revision = l.revision + 1
        WHERE k.\`key\` = ? AND k.revision = ?`,
      other: `${bounded}UPDATE ${records} k JOIN ${claims} l ON ${other} SET ${set}, l.seq = l.seq
        WHERE k.\`key\` = ? AND k.revision = ?`,
    },
  }
}

/** Each removes a few rows through the index: values that have ended, and rows that are no longer needed. Keys with claims stay. */
export function cleanStatements({ keys, records }: TableNames): readonly string[] {
  const due = (also = '') => `WHERE forget_at <= ${MS} ${also} ORDER BY forget_at LIMIT ${ROWS_PER_CLEANING}`
  const ended = 'value IS NOT NULL AND expires_at IS NOT NULL'
  return [
    `DELETE FROM ${keys} ${due('AND others = 0')}`,
    `UPDATE ${records} SET value = NULL, forget_at = forget_at + ${SQL_RULES.keepSeqMs} ${due(`AND ${ended}`)}`,
    `DELETE FROM ${records} ${due(`AND NOT (${ended})`)}`,
  ]
}

/** Keys that are due for removal but have claims. They are due again in an hour. */
export function staleStatements(keys: string): { find: string; postpone: (count: number) => string } {
  return {
    find: `SELECT \`key\` FROM ${keys} WHERE forget_at <= ${MS} AND others > 0 ORDER BY forget_at LIMIT ${KEYS_PER_CLEANING}`,
    postpone: (count) => `UPDATE ${keys} FORCE INDEX (PRIMARY) SET forget_at = ${MS} + ${FORGET_SLACK_MS}
      WHERE \`key\` IN (${Array.from({ length: count }, () => '?').join(', ')})`,
  }
}
