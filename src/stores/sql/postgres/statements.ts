import type { TableNames } from '../server/names.ts'
import { FORGET_SLACK_MS, LOCK_WAIT_MS } from '../server/rules.ts'
import { handOn, joinLine } from './line.ts'

/**
 * Every statement begins with `t`: the time, read from the clock when the statement runs and not when its transaction
 * began, and settings that end with the statement. A row that is locked is not waited for without a bound.
 */
function timed(relaxed: boolean): string {
  const settings = [`set_config('lock_timeout', '${LOCK_WAIT_MS}', true)`]
  if (relaxed) settings.push(`set_config('synchronous_commit', 'off', true)`)
  return `WITH t AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us, ${settings.join(', ')})`
}

const CLAIM = {
  key: 'text',
  id: 'text',
  ttl: 'bigint',
  head: 'text',
  tail: 'text',
  needed: 'bigint',
} as const
const COLUMNS = 'k.revision, k.seq, k.holder, k.expires_at, k.state, k.forget_at'
const LATER = `CASE WHEN k.forget_at >= $NEED THEN k.forget_at ELSE $NEED + ${FORGET_SLACK_MS} END`

/** `forget_at`, moved on only if it would be too soon, so that the index of it is seldom written. */
function later(needed: string): string {
  return LATER.replaceAll('$NEED', needed)
}

/**
 * What is given, as rows `c`: lists for many, plain values for one. The server keeps a plan for plain values; with lists it believes that a
 * plan for just these would be better, and makes a new one every time, which takes longer than the statement itself.
 */
function given(many: boolean, columns: Readonly<Record<string, 'text' | 'bigint'>>): string {
  const all = Object.entries(columns)
  const value = (type: string, place: number): string => `$${place + 1}::${type}`
  if (!many)
    return `(SELECT ${all.map(([name, type], place) => `${value(type, place)} AS ${name}`).join(', ')}) AS c`
  const lists = all.map(([, type], place) => `${value(type, place)}[]`)
  return `unnest(${lists.join(', ')}) AS c (${Object.keys(columns).join(', ')})`
}

/** Texts are made once: they are long, and clients look them up by their content. */
function both(make: (many: boolean) => string): (many: boolean) => string {
  const [one, several] = [make(false), make(true)]
  return (many) => (many ? several : one)
}

/** The texts of the statements on keys. Several rows are locked in the order of their keys, so that nobody waits in a circle. */
export function keyStatements({ keys }: TableNames, relaxed: boolean) {
  const t = timed(relaxed)
  // A release that a crash takes back is a holder that died: it costs the rest of a ttl, so nobody waits for the disk.
  const soon = timed(true)
  const locked = (many: boolean) =>
    many ? `, l AS MATERIALIZED (SELECT key FROM ${keys} WHERE key = ANY($1) ORDER BY key FOR UPDATE)` : ''
  const among = (many: boolean) => (many ? 'AND (SELECT count(*) FROM l) >= 0' : '')
  // For one key a single column: its sequence number, or the row as JSON. A client takes longer over columns than over a text.
  const found = (many: boolean) =>
    many
      ? `
    SELECT t.us, c.key, done.seq AS done, ${COLUMNS}
    FROM t CROSS JOIN ${given(many, { key: 'text' })}
    LEFT JOIN done ON done.key = c.key
    LEFT JOIN ${keys} k ON k.key = c.key AND done.key IS NULL`
      : `
    SELECT coalesce(done.seq::text, (SELECT json_build_object('us', t.us, 'key', $1::text, 'revision', k.revision, 'seq', k.seq,
      'holder', k.holder, 'expires_at', k.expires_at, 'state', k.state, 'forget_at', k.forget_at)::text
      FROM (SELECT 1) one LEFT JOIN ${keys} k ON k.key = $1::text)) AS said
    FROM t LEFT JOIN done ON true`
  return {
    look: both(
      (many) => `
      SELECT (extract(epoch FROM t.at) * 1000000)::bigint AS us, k.key, ${COLUMNS}
      FROM (SELECT clock_timestamp() AS at) t LEFT JOIN ${keys} k ON k.key = ${many ? 'ANY($1::text[])' : '$1::text'}`,
    ),
    page: (first: boolean) => `
      SELECT (extract(epoch FROM t.at) * 1000000)::bigint AS us, k.*
      FROM (SELECT clock_timestamp() AS at) t LEFT JOIN LATERAL
        (SELECT k.key, ${COLUMNS} FROM ${keys} k
         WHERE k.key ${first ? '>=' : '>'} $1::text COLLATE "C" AND k.state IS NOT NULL
         ORDER BY k.key LIMIT $2) k ON true ORDER BY k.key`,
    tell: 'SELECT pg_notify(n.channel, n.payload)::text FROM unnest($1::text[], $2::text[]) AS n (channel, payload)',
    claimFree: both(
      (many) => `${t}, done AS (
      INSERT INTO ${keys} AS k (key, revision, seq, holder, expires_at, state, forget_at)
      SELECT c.key, t.us, t.us, c.id, t.us / 1000 + c.ttl, c.head || t.us / 1000 || c.tail,
        t.us / 1000 + c.needed + ${FORGET_SLACK_MS}
      FROM t CROSS JOIN ${given(many, CLAIM)}
      ORDER BY c.key COLLATE "C"
      ON CONFLICT (key) DO UPDATE SET revision = k.revision + 1, seq = greatest(k.seq + 1, excluded.seq),
        holder = excluded.holder, expires_at = excluded.expires_at, state = excluded.state,
        forget_at = ${later(`(excluded.forget_at - ${FORGET_SLACK_MS})`)}
      WHERE k.state IS NULL
      RETURNING k.key, k.seq) ${found(many)}`,
    ),
    renewSole: both(
      (many) => `${t}${locked(many)}, done AS (
      UPDATE ${keys} k SET revision = k.revision + 1,
        expires_at = greatest(k.expires_at, t.us / 1000 + c.ttl), forget_at = ${later('(t.us / 1000 + c.needed)')}
      FROM t CROSS JOIN ${given(many, { key: 'text', id: 'text', ttl: 'bigint', needed: 'bigint' })}
      WHERE k.key = c.key AND k.holder = c.id AND k.expires_at > t.us / 1000 ${among(many)}
      RETURNING k.key, k.seq) ${found(many)}`,
    ),
    releaseOne: `${soon}, ${handOn(keys)}`,
    /** Nobody waits for the disk while the row is locked: `flush` does that afterwards. */
    joinLine: `${soon}, ${joinLine(keys)}
      SELECT t.us, c.key, done.seq AS done, coalesce(done.revision, k.revision) AS revision,
        coalesce(done.seq, k.seq) AS seq, CASE WHEN done.key IS NULL THEN k.holder END AS holder,
        CASE WHEN done.key IS NULL THEN k.expires_at ELSE 0 END AS expires_at,
        coalesce(done.state, k.state) AS state, coalesce(done.forget_at, k.forget_at) AS forget_at
      FROM t CROSS JOIN ${given(false, { key: 'text' })}
      LEFT JOIN done ON done.key = c.key LEFT JOIN told ON told.key = c.key
      LEFT JOIN ${keys} k ON k.key = c.key AND done.key IS NULL`,
    releaseSole: `${soon}${locked(true)}, done AS (
      UPDATE ${keys} k SET revision = k.revision + 1, holder = NULL, expires_at = 0, state = NULL
      FROM t CROSS JOIN ${given(true, { key: 'text', id: 'text' })}
      WHERE k.key = c.key AND k.holder = c.id AND k.expires_at > t.us / 1000 ${among(true)}
      RETURNING k.key, k.seq) ${found(true)}`,
    save: (many: boolean, told: boolean, whole: boolean) => `${t}${locked(many)}, w AS MATERIALIZED (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
        AS w (key, revision, seq, holder, expires_at, state, forget_at)),
      updated AS (
        UPDATE ${keys} k SET revision = k.revision + 1, seq = w.seq, holder = w.holder, expires_at = w.expires_at,
          state = w.state, forget_at = w.forget_at
        FROM t, w WHERE k.key = w.key AND k.revision = w.revision ${among(many)} RETURNING k.key),
      inserted AS (
        INSERT INTO ${keys} (key, revision, seq, holder, expires_at, state, forget_at)
        SELECT w.key, t.us, w.seq, w.holder, w.expires_at, w.state, w.forget_at
        FROM t, w WHERE w.revision IS NULL ORDER BY w.key COLLATE "C" ON CONFLICT (key) DO NOTHING RETURNING key),
      done AS (SELECT key FROM updated UNION ALL SELECT key FROM inserted)
      ${told ? TOLD : 'SELECT d.key'}${whole ? `, ${WHOLE}` : ''} FROM done d${told ? LETTERS : ''}`,
  }
}

/** Writes next to nothing, and waits until that and everything before it is on the disk. */
export const FLUSH = `SELECT pg_logical_emit_message(true, 'holdfast', '')::text`

/** What is told goes out with the commit, and only for what was written. */
const TOLD = 'SELECT d.key, CASE WHEN n.channel IS NOT NULL THEN pg_notify(n.channel, n.payload)::text END'
const LETTERS =
  ' LEFT JOIN unnest($8::text[], $9::text[], $10::text[]) AS n (key, channel, payload) ON n.key = d.key'
/** An error takes back the whole statement. */
const WHOLE = '1 / (CASE WHEN (SELECT count(*) FROM done) = cardinality($1) THEN 1 ELSE 0 END)'

export function recordStatements({ keys, records }: TableNames, relaxed: boolean) {
  const columns = 'k.revision, k.version, k.value, k.expires_at'
  const t = timed(relaxed)
  return {
    look: `
      SELECT (extract(epoch FROM t.at) * 1000000)::bigint AS us, k.key, ${columns}
      FROM (SELECT clock_timestamp() AS at) t LEFT JOIN ${records} k ON k.key = ANY($1::text[])`,
    save: (held: boolean) => `${t}, ${held ? proof(keys) : ''} w AS MATERIALIZED (
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

/** The lock's row cannot change before the record is written. */
function proof(keys: string): string {
  return `p AS MATERIALIZED (SELECT 1 FROM ${keys} k, t
    WHERE k.key = $7 AND k.revision = $8 AND $9::bigint > t.us / 1000 FOR SHARE OF k),`
}
const PROVEN = 'AND EXISTS (SELECT 1 FROM p)'

/** A few rows at a time, by the index, and none that somebody works on. */
export function cleanStatement(table: string): string {
  return `DELETE FROM ${table} WHERE key IN (
    SELECT key FROM ${table} WHERE forget_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    ORDER BY forget_at LIMIT 50 FOR UPDATE SKIP LOCKED) RETURNING key`
}
