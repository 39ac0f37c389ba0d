import { FORGET_SLACK_MS, SQL_RULES } from '../../shared/sql.ts'
import { KEYS_PER_CLEANING, LOCK_WAIT_MS, ROWS_PER_CLEANING } from '../tables/database.ts'

import type { TableNames } from '../tables/names.ts'

/**
 * Every statement begins with `t`: the time when the statement runs, not when its transaction began, and settings that end with the
 * statement, such as a bound on the wait for a locked row.
 */
export function timed(relaxed: boolean): string {
  const settings = [`set_config('lock_timeout', ${longestWait(LOCK_WAIT_MS)}, true)`]
  if (relaxed) settings.push(`set_config('synchronous_commit', 'off', true)`)
  return `WITH t AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us, ${settings.join(', ')})`
}

/**
 * At most half of `statement_timeout`, where a role or a pool has set one: a canceled statement could not report that the row is held,
 * and would abort a transaction of the caller.
 */
export function longestWait(ms: number): string {
  const timeout = `current_setting('statement_timeout')`
  const half = `extract(epoch FROM ${timeout}::interval) * 500`
  return `CASE ${timeout} WHEN '0' THEN '${ms}' ELSE ceil(least(${ms}, ${half}))::text END`
}

export const NOW = 't.us / 1000'
const LATER = `CASE WHEN k.forget_at >= $NEED THEN k.forget_at ELSE $NEED + ${FORGET_SLACK_MS} END`

/** `forget_at`, moved on only if it is too soon, so that its index is seldom written. */
export function later(needed: string): string {
  return LATER.replaceAll('$NEED', needed)
}

/**
 * The parameters as rows `c`: lists for many, plain values for one. The server keeps a plan for plain values; for lists it makes a new
 * plan every time, which takes longer than the statement itself.
 */
export function given(many: boolean, columns: Readonly<Record<string, string>>): string {
  const all = Object.entries(columns)
  const value = (type: string, place: number): string => `$${place + 1}::${type}`
  if (!many)
    return `(SELECT ${all.map(([name, type], place) => `${value(type, place)} AS ${name}`).join(', ')}) AS c`
  const lists = all.map(([, type], place) => `${value(type, place)}[]`)
  return `unnest(${lists.join(', ')}) AS c (${Object.keys(columns).join(', ')})`
}

/** Writes next to nothing, and waits until it and everything before it is on the disk. */
export const FLUSH = `SELECT pg_logical_emit_message(true, 'holdfast', '')::text`

export function recordStatements({ keys, claims, records }: TableNames, relaxed: boolean) {
  const columns = 'k.revision, k.version, k.value, k.expires_at'
  const t = timed(relaxed)
  return {
    look: `
      SELECT (extract(epoch FROM t.at) * 1000000)::bigint AS us, k.key, ${columns}
      FROM (SELECT clock_timestamp() AS at) t LEFT JOIN ${records} k ON k.key = ANY($1::text[])`,
    save: (held: boolean) => `${t}, ${held ? proof(keys, claims) : ''} w AS MATERIALIZED (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[])
        AS w (key, revision, version, value, expires_at, forget_at)),
      updated AS (
        UPDATE ${records} k SET revision = k.revision + 1, version = w.version, value = w.value,
          expires_at = w.expires_at, forget_at = w.forget_at
        FROM t, w WHERE k.key = w.key AND k.revision = w.revision ${held ? PROVEN : ''} RETURNING k.key),
      inserted AS (
        INSERT INTO ${records} (key, revision, version, value, expires_at, forget_at)
        SELECT w.key, t.us, w.version, w.value, w.expires_at, w.forget_at
        FROM t, w WHERE w.revision IS NULL ${held ? PROVEN : ''} ORDER BY w.key COLLATE "C"
        ON CONFLICT (key) DO NOTHING RETURNING key)
      SELECT key FROM updated UNION ALL SELECT key FROM inserted`,
  }
}

/** The claim cannot end before the record is written. */
function proof(keys: string, claims: string): string {
  return `p1 AS MATERIALIZED (SELECT 1 FROM ${keys} k, t
    WHERE k.key = $7 AND k.holder = $8 AND k.expires_at > t.us / 1000 FOR SHARE OF k),
    p2 AS MATERIALIZED (SELECT 1 FROM ${claims} c, t
    WHERE c.key = $7 AND c.id = $8 AND c.state = 'held' AND c.expires_at > t.us / 1000 FOR SHARE OF c),
    p AS MATERIALIZED (SELECT 1 FROM p1 UNION ALL SELECT 1 FROM p2),`
}
const PROVEN = 'AND EXISTS (SELECT 1 FROM p)'

/** Each removes a few unlocked rows through the index: values that have ended, and rows that are no longer needed. */
export function cleanStatements({ keys, records }: TableNames): readonly string[] {
  const due = (table: string, also = '') => `WHERE key IN (
    SELECT key FROM ${table} WHERE forget_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint) ${also}
    ORDER BY forget_at LIMIT ${ROWS_PER_CLEANING} FOR UPDATE SKIP LOCKED) RETURNING key`
  const ended = 'value IS NOT NULL AND expires_at IS NOT NULL'
  return [
    `DELETE FROM ${keys} ${due(keys, 'AND others = 0')}`,
    `UPDATE ${records} SET value = NULL, forget_at = forget_at + ${SQL_RULES.keepSeqMs} ${due(records, `AND ${ended}`)}`,
    `DELETE FROM ${records} ${due(records, `AND NOT (${ended})`)}`,
  ]
}

/** Keys that are due for removal but have claims. The statement returns them again in an hour. */
export function staleStatement(keys: string): string {
  const now = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)'
  return `UPDATE ${keys} SET forget_at = ${now} + ${FORGET_SLACK_MS} WHERE key IN (
    SELECT key FROM ${keys} WHERE forget_at <= ${now} AND others > 0
    ORDER BY forget_at LIMIT ${KEYS_PER_CLEANING} FOR UPDATE SKIP LOCKED) RETURNING key`
}
