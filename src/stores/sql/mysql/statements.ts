import type { TableNames } from '../server/names.ts'
import { FORGET_SLACK_MS } from '../server/rules.ts'

/** The server's clock when the statement began; in UTC, because a local hour may come twice. */
export const US = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`
export const MS = `(${US} DIV 1000)`
const COLUMNS = 'k.`key`, k.revision, k.seq, k.holder, k.expires_at, k.state, k.forget_at'
/** Leaves the range of the column, whatever the mode of the server: an error takes back the whole statement. */
const REFUSED = 'k.revision + 9223372036854775807'

/** The lock wait of the server is fifty seconds; MariaDB lets one statement have its own. */
const BOUNDED = 'SET STATEMENT innodb_lock_wait_timeout = 1 FOR '

/** Texts are long: each is made once for every count of keys that comes up, of which there are few. */
function kept(make: (count: number) => string): (count: number) => string {
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

/** The texts of the statements on keys. Assignments are made from left to right, so what they depend on comes last. */
export function keyStatements({ keys }: TableNames, mariadb: boolean) {
  const bounded = mariadb ? BOUNDED : ''
  const list = (count: number, one: string) => Array.from({ length: count }, () => one).join(', ')
  const when = (value: string, otherwise: string) => `IF(k.state IS NULL, ${value}, ${otherwise})`
  const columns = '(`key`, revision, seq, holder, expires_at, state, forget_at)'
  const into = `INSERT INTO ${keys} ${columns} VALUES`
  const row = `(?, ${US}, LAST_INSERT_ID(${US}), ?, ${MS} + ?, CONCAT(?, ${MS}, ?), ${MS} + ? + ${FORGET_SLACK_MS})`
  // Lists of plain values are read much faster than lists of expressions, and the time is worked out once.
  const rows = (count: number) => `INSERT INTO ${keys} ${columns}
    WITH c (\`key\`, id, ttl, head, tail, needed) AS (VALUES ${list(count, '(?, ?, ?, ?, ?, ?)')}),
      t AS (SELECT ${US} AS us, ${MS} AS ms)
    SELECT c.\`key\`, t.us, t.us, c.id, t.ms + c.ttl, CONCAT(c.head, t.ms, c.tail), t.ms + c.needed + ${FORGET_SLACK_MS} FROM t, c`
  const ifFree = `ON DUPLICATE KEY UPDATE
    revision = ${when('k.revision + 1', 'k.revision')}, holder = ${when('VALUES(holder)', 'k.holder')},
    seq = ${when('LAST_INSERT_ID(GREATEST(k.seq + 1, VALUES(seq)))', 'k.seq + LAST_INSERT_ID(0)')},
    expires_at = ${when('VALUES(expires_at)', 'k.expires_at')},
    forget_at = IF(k.state IS NULL AND k.forget_at < VALUES(forget_at) - ${FORGET_SLACK_MS}, VALUES(forget_at), k.forget_at),
    state = ${when('VALUES(state)', 'k.state')}`.replaceAll('k.', `${keys}.`)
  const renew = `SET k.revision = k.revision + 1, k.expires_at = GREATEST(k.expires_at, ${MS} + ?),
    k.forget_at = IF(k.forget_at >= ${MS} + ?, k.forget_at, ${MS} + ? + ${FORGET_SLACK_MS})`
  const release = 'SET k.revision = k.revision + 1, k.holder = NULL, k.expires_at = 0, k.state = NULL'
  const sole = `WHERE k.\`key\` = ? AND k.holder = ? AND k.expires_at > ${MS}`
  const soles = (count: number) => `WHERE k.\`key\` IN (${list(count, '?')})
    AND (k.\`key\`, k.holder) IN (${list(count, '(?, ?)')}) AND k.expires_at > ${MS}`
  const onSole = (set: string) => ({
    one: `${bounded}UPDATE ${keys} k ${set} ${sole}`,
    each: kept((count) => together(`UPDATE ${keys} k ${set} ${sole}`, count)),
    // A small table would be read, and locked, from end to end.
    all: kept((count) => allOrNone(`UPDATE ${keys} k FORCE INDEX (PRIMARY) ${set} ${soles(count)}`, count)),
  })
  return {
    look: kept(
      (count) =>
        `SELECT ${US} AS us, ${COLUMNS} FROM (SELECT 1) one LEFT JOIN ${keys} k ON k.\`key\` IN (${list(count, '?')})`,
    ),
    page: (first: boolean) => `SELECT ${US} AS us, ${COLUMNS} FROM (SELECT 1) one LEFT JOIN
      (SELECT * FROM ${keys} WHERE \`key\` ${first ? '>=' : '>'} ? AND state IS NOT NULL ORDER BY \`key\` LIMIT ?) k
      ON TRUE ORDER BY k.\`key\``,
    /** Where one claim is made, its sequence number travels back as the insert id, and zero says that the key is not free. */
    claimFree: kept((count) =>
      count === 1
        ? `${bounded}${into} ${row} ${ifFree}`
        : `${bounded}${rows(count)} ${ifFree} RETURNING ${US} AS us, ${COLUMNS.replaceAll('k.', '')}`,
    ),
    renewSole: onSole(renew),
    releaseSole: onSole(release),
    insert: `${bounded}${into} (?, ${US}, ?, ?, ?, ?, ?)`,
    update: `${bounded}UPDATE ${keys} k SET k.revision = k.revision + 1, k.seq = ?, k.holder = ?, k.expires_at = ?,
      k.state = ?, k.forget_at = ? WHERE k.\`key\` = ? AND k.revision = ?`,
    /** All or nothing: a row that is not the one that was read makes the statement fail. */
    whole: (count: number, known: number) =>
      `${bounded}${into} ${list(count, `(?, ${US}, ?, ?, ?, ?, ?)`)}
      ON DUPLICATE KEY UPDATE revision = IF(${known === 0 ? 'FALSE' : `(k.\`key\`, k.revision) IN (${list(known, '(?, ?)')})`},
        k.revision + 1, ${REFUSED}),
      seq = VALUES(seq), holder = VALUES(holder), expires_at = VALUES(expires_at), state = VALUES(state),
      forget_at = VALUES(forget_at)`.replaceAll('k.', `${keys}.`),
  }
}

/** Several statements that the server runs through in one go, with one answer: how many rows each of them changed. */
function together(statement: string, count: number): string {
  const steps = Array.from(
    { length: count },
    (_, place) => `${statement}; SET @holdfast_${place} = ROW_COUNT();`,
  )
  const counts = Array.from({ length: count }, (_, place) => `@holdfast_${place} AS done_${place}`)
  return inOneGo(`${steps.join(' ')} COMMIT;`, counts.join(', '))
}

/** One statement that changes so many rows, or none: then it is not known which of them it could not. */
function allOrNone(statement: string, count: number): string {
  const decide = `IF @holdfast_done = ${count} THEN COMMIT; ELSE ROLLBACK; END IF;`
  return inOneGo(`${statement}; SET @holdfast_done = ROW_COUNT(); ${decide}`, '@holdfast_done AS done')
}

function inOneGo(steps: string, answer: string): string {
  const restore = 'SET SESSION innodb_lock_wait_timeout = @holdfast_wait;'
  return `BEGIN NOT ATOMIC
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; ${restore} RESIGNAL; END;
    SET @holdfast_wait = @@SESSION.innodb_lock_wait_timeout; SET SESSION innodb_lock_wait_timeout = 1;
    START TRANSACTION; ${steps} ${restore}
    SELECT ${answer};
    END`
}

export function recordStatements({ keys, records }: TableNames, mariadb: boolean) {
  const bounded = mariadb ? BOUNDED : ''
  const columns = 'k.`key`, k.revision, k.version, k.value, k.expires_at'
  const into = `INSERT INTO ${records} (\`key\`, revision, version, value, expires_at, forget_at)`
  const set = 'k.revision = k.revision + 1, k.version = ?, k.value = ?, k.expires_at = ?, k.forget_at = ?'
  const proven = `l.\`key\` = ? AND l.revision = ? AND ? > ${MS}`
  return {
    look: (count: number) => `SELECT ${US} AS us, ${columns} FROM (SELECT 1) one
      LEFT JOIN ${records} k ON k.\`key\` IN (${Array.from({ length: count }, () => '?').join(', ')})`,
    insert: `${bounded}${into} VALUES (?, ${US}, ?, ?, ?, ?)`,
    update: `${bounded}UPDATE ${records} k SET ${set} WHERE k.\`key\` = ? AND k.revision = ?`,
    insertHeld: `${bounded}${into} SELECT ?, ${US}, ?, ?, ?, ? FROM ${keys} l WHERE ${proven} FOR UPDATE`,
    /** The lock's row is changed too, so that it is locked whatever the isolation level. */
    updateHeld: `${bounded}UPDATE ${records} k JOIN ${keys} l ON ${proven} SET ${set}, l.revision = l.revision + 1
      WHERE k.\`key\` = ? AND k.revision = ?`,
  }
}

/** A few rows at a time, by the index. */
export function cleanStatement(table: string): string {
  return `DELETE FROM ${table} WHERE forget_at <= ${MS} ORDER BY forget_at LIMIT 50`
}
