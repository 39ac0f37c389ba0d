import { MOST_TOLD_OF_CONTENTION } from '../../../model/index.ts'
import { FORGET_SLACK_MS } from '../../shared/sql.ts'
import {
  CLAIM,
  type Columns,
  GONE,
  HOLDER,
  isOlder,
  KEY,
  leavesNoRoom,
  NEW_CLAIM,
} from '../tables/columns.ts'
import { HEADS, MOST_DEAD, MOST_OF_OWNERS } from '../tables/key-snapshot.ts'
import type { TableNames } from '../tables/names.ts'

import { handOff, joinQueue, ONE_LESS, releaseOwn, renewOwn } from './queue-statements.ts'
import { given, later, NOW, timed } from './statements.ts'

/** This many heads mean all claims of the key. */
export const EVERYTHING = 2_000_000_000

function lists(columns: Columns, first: number): string {
  return Object.values(columns)
    .map((type, place) => `$${first + place}::${type}[]`)
    .join(', ')
}

function names(columns: Columns, before = ''): string {
  return Object.keys(columns)
    .map((name) => before + name)
    .join(', ')
}

function sizeOf(columns: Columns): number {
  return Object.keys(columns).length
}

/** Makes the texts once: they are long, and clients look them up by their content. */
function both(make: (many: boolean) => string): (many: boolean) => string {
  const [one, several] = [make(false), make(true)]
  return (many) => (many ? several : one)
}

const NO_HOLDER = `holder = NULL, hold_seq = 0, weight = 0, owner = NULL, actor = NULL, label = NULL,
  meta = NULL, inbox = NULL, since = 0, expires_at = 0, lock_delay = 0`

/** The statements on keys. Rows are locked in the order of their keys, so that there are no deadlocks. */
export function keyStatements(tables: TableNames, relaxed: boolean) {
  const { keys, claims } = tables
  const t = timed(relaxed)
  // A crash that undoes a release is like a dead holder: it costs the rest of a ttl. So releases do not wait for the disk.
  const soon = timed(true)
  const locked = (many: boolean) =>
    many ? `, l AS MATERIALIZED (SELECT key FROM ${keys} WHERE key = ANY($1) ORDER BY key FOR UPDATE)` : ''
  const among = (many: boolean) => (many ? 'AND (SELECT count(*) FROM l) >= 0' : '')
  const alone = `k.key = c.key AND k.holder = c.id AND k.expires_at > ${NOW}`
  const clock = '(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us) t'
  const heads = `SELECT ticket FROM ${claims} h WHERE h.key = d.key AND h.state = 'waiting' ORDER BY ticket LIMIT ${HEADS}`
  const headsOf = (of: string) =>
    `SELECT t.us, d.key, NULL AS id, NULL AS state, h.ticket, NULL::bigint AS seq, NULL AS owner, NULL::bigint AS since,
      NULL::bigint AS expires_at FROM t CROSS JOIN (SELECT DISTINCT key FROM ${of}) d CROSS JOIN LATERAL (${heads}) h`
  return {
    look: `SELECT t.us, q.key, row_to_json(k)::text AS row, CASE WHEN k.others > 0 THEN (SELECT json_agg(c) FROM (
        (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.id = ANY(q.ids::text[]))
        UNION (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.owner = ANY(q.owners::text[])
          ORDER BY c.expires_at DESC LIMIT ${MOST_OF_OWNERS})
        UNION (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.state = 'held' AND c.expires_at <= ${NOW}
          ORDER BY c.expires_at LIMIT greatest(${MOST_DEAD}, q.heads))
        UNION (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.state = 'waiting' AND c.expires_at <= ${NOW}
          ORDER BY c.expires_at LIMIT greatest(${MOST_DEAD}, q.heads))
        UNION (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.state = 'held' AND c.expires_at > ${NOW}
          ORDER BY c.expires_at LIMIT CASE WHEN q.heads = ${EVERYTHING} THEN q.heads
            WHEN k.waiting = 0 THEN ${MOST_TOLD_OF_CONTENTION} ELSE 1 END)
        UNION (SELECT c.* FROM ${claims} c WHERE c.key = k.key AND c.state = 'waiting' AND c.expires_at > ${NOW}
          ORDER BY c.ticket LIMIT q.heads)) c)::text END AS claims
      FROM ${clock} CROSS JOIN unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS q (key, ids, owners, heads)
      LEFT JOIN ${keys} k ON k.key = q.key`,
    page: (first: boolean) => `SELECT t.us, k.key, row_to_json(k)::text AS row,
        (SELECT json_agg(c) FROM ${claims} c WHERE c.key = k.key)::text AS claims
      FROM ${clock} LEFT JOIN LATERAL (SELECT k.* FROM ${keys} k
        WHERE k.key ${first ? '>=' : '>'} $1::text COLLATE "C" AND (k.holder IS NOT NULL OR k.others > 0)
        ORDER BY k.key LIMIT $2) k ON true ORDER BY k.key`,
    tell: 'SELECT pg_notify(n.channel, n.payload)::text FROM unnest($1::text[], $2::text[]) AS n (channel, payload)',
    claimFree: both(
      (many) => `${t}
      INSERT INTO ${keys} AS k (key, revision, seq, mode, permits, holds, used, ${names(HOLDER)}, forget_at)
      SELECT c.key, t.us, t.us, c.mode, c.permits, 1, c.weight, c.id, t.us, c.weight, c.owner, c.actor, c.label, c.meta,
        c.inbox, ${NOW}, ${NOW} + c.ttl, c.lock_delay, ${NOW} + c.needed + ${FORGET_SLACK_MS}
      FROM t CROSS JOIN ${given(many, NEW_CLAIM)}
      ${many ? 'ORDER BY c.key COLLATE "C"' : ''}
      ON CONFLICT (key) DO UPDATE SET revision = k.revision + 1, seq = greatest(k.seq + 1, excluded.seq),
        mode = excluded.mode, permits = excluded.permits, holds = 1, used = excluded.used, holder = excluded.holder,
        hold_seq = greatest(k.seq + 1, excluded.seq), weight = excluded.weight, owner = excluded.owner,
        actor = excluded.actor, label = excluded.label, meta = excluded.meta, inbox = excluded.inbox,
        since = excluded.since, expires_at = excluded.expires_at, lock_delay = excluded.lock_delay,
        forget_at = ${later(`(excluded.forget_at - ${FORGET_SLACK_MS})`)}
      WHERE k.holder IS NULL AND k.others = 0 AND k.closed_until <= excluded.since
      RETURNING k.key, k.seq, false AS contended`,
    ),
    renewSole: both(
      (many) => `${t}${locked(many)}
      UPDATE ${keys} k SET revision = k.revision + 1,
        expires_at = greatest(k.expires_at, ${NOW} + c.ttl), forget_at = ${later(`(${NOW} + c.needed)`)}
      FROM t CROSS JOIN ${given(many, { key: 'text', id: 'text', ttl: 'bigint', needed: 'bigint' })}
      WHERE ${alone} AND (k.others = 0 OR k.mode = 'exclusive' OR ${isOlder('k.hold_seq')}) ${among(many)}
      RETURNING k.key, k.seq, k.waiting > 0 AS contended`,
    ),
    releaseSole: both((many) => {
      const sole = `UPDATE ${keys} k SET ${ONE_LESS}, used = k.used - k.weight, ${NO_HOLDER}
        FROM t CROSS JOIN ${given(many, { key: 'text', id: 'text' })}
        WHERE ${alone} AND (k.others = 0 OR k.owner IS NULL AND ${leavesNoRoom(isOlder('k.hold_seq'))}) ${among(many)}
        RETURNING k.key, k.seq, false AS contended`
      return many ? `${soon}${locked(true)} ${sole}` : `${soon}, sole AS (${sole}), ${handOff(tables)}`
    }),
    renewOwn: `${t} ${renewOwn(tables)}`,
    releaseOwn: `${soon}, ${releaseOwn(tables)}`,
    join: `${soon}, ${joinQueue(tables)}`,
    renewWaiting: `${timed(relaxed)}, g AS MATERIALIZED (
        SELECT c.key, c.id, g.ttl FROM t CROSS JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS g (key, id, ttl)
        JOIN ${claims} c ON c.key = g.key AND c.id = g.id AND c.state = 'waiting' AND c.expires_at > ${NOW}
        ORDER BY c.key, c.id FOR UPDATE OF c),
      u AS (UPDATE ${claims} c SET expires_at = greatest(c.expires_at, ${NOW} + g.ttl)
        FROM g, t WHERE c.key = g.key AND c.id = g.id AND c.state = 'waiting' RETURNING c.*)
      SELECT t.us, u.key, u.id, u.state, u.ticket, u.seq, u.owner, u.since, u.expires_at FROM t LEFT JOIN u ON true
      UNION ALL ${headsOf('g')}`,
    find: `WITH t AS MATERIALIZED (SELECT * FROM ${clock}),
      g AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::text[]) AS g (key, id))
      SELECT t.us, g.key, g.id, c.state, c.ticket, c.seq, c.owner, c.since, c.expires_at
        FROM t CROSS JOIN g JOIN ${claims} c ON c.key = g.key AND c.id = g.id
      UNION ALL SELECT t.us, g.key, g.id, 'held', 0, k.hold_seq, k.owner, k.since, k.expires_at
        FROM t CROSS JOIN g JOIN ${keys} k ON k.key = g.key AND k.holder = g.id
      UNION ALL ${headsOf('g')}
      UNION ALL SELECT t.us, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM t`,
    save: (many: boolean, rows: boolean, notifies: boolean, whole: boolean) =>
      saveText(tables, `${t}${locked(many)}`, among(many), rows, notifies, whole),
  }
}

function saveText(
  { keys, claims }: TableNames,
  t: string,
  among: string,
  rows: boolean,
  notifies: boolean,
  whole: boolean,
): string {
  const gone = 1 + sizeOf(KEY)
  const put = gone + sizeOf(GONE) + 1
  const letters = rows ? put + sizeOf(CLAIM) + 1 : gone
  const writeRows = `, g AS MATERIALIZED (SELECT * FROM unnest(${lists(GONE, gone)}) AS g (${names(GONE)})),
    deleted AS (DELETE FROM ${claims} c USING g, done d WHERE d.key = g.key AND c.key = g.key AND c.id = g.id
      AND (NOT g.dead OR c.expires_at <= $${put - 1}::bigint) RETURNING c.id),
    put AS (INSERT INTO ${claims} AS c (${names(CLAIM)})
      SELECT ${names(CLAIM, 'p.').replace('p.ticket', 'CASE WHEN p.is_new THEN d.first + p.ticket ELSE p.ticket END')}
      FROM unnest(${lists({ ...CLAIM, is_new: 'boolean' }, put)}) AS p (${names(CLAIM)}, is_new) JOIN done d ON d.key = p.key
      ON CONFLICT (key, id) DO UPDATE SET state = excluded.state, ticket = excluded.ticket, mode = excluded.mode,
        permits = excluded.permits, weight = excluded.weight, seq = excluded.seq, owner = excluded.owner,
        actor = excluded.actor, label = excluded.label, meta = excluded.meta, inbox = excluded.inbox,
        since = excluded.since, ttl = excluded.ttl, lock_delay = excluded.lock_delay,
        expires_at = CASE WHEN c.state = excluded.state THEN greatest(c.expires_at, excluded.expires_at)
          ELSE excluded.expires_at END)`
  // An error undoes the whole statement: for an incomplete group, or for a claim that was renewed at the last moment.
  const all = '(SELECT count(*) FROM done) = cardinality($1)'
  const dead = '(SELECT count(*) FROM deleted) = (SELECT count(*) FROM g JOIN done USING (key))'
  const conditions = [...(whole ? [all] : []), ...(rows ? [dead] : [])]
  const guard =
    conditions.length === 0 ? '' : `, 1 / (CASE WHEN ${conditions.join(' AND ')} THEN 1 ELSE 0 END)`
  const tell = notifies
    ? ', CASE WHEN n.channel IS NOT NULL THEN pg_notify(n.channel, n.payload)::text END'
    : ''
  const others = Object.keys(HOLDER)
    .map((name) => `${name} = w.${name}`)
    .join(', ')
  return `${t}, w AS MATERIALIZED (SELECT * FROM unnest(${lists(KEY, 1)}) AS w (${names(KEY)})),
    updated AS (
      UPDATE ${keys} k SET revision = k.revision + 1, seq = w.seq, mode = w.mode, permits = w.permits,
        holds = k.holds + w.holds, used = k.used + w.used, waiting = k.waiting + w.waiting, others = k.others + w.others,
        next_ticket = k.next_ticket + w.joined, closed_until = w.closed_until, forget_at = greatest(k.forget_at, w.forget_at), ${others}
      FROM t, w WHERE k.key = w.key AND k.revision = w.revision ${among} RETURNING k.key, k.next_ticket - w.joined AS first),
    inserted AS (
      INSERT INTO ${keys} (key, revision, seq, mode, permits, holds, used, waiting, others, next_ticket, closed_until,
        forget_at, ${names(HOLDER)})
      SELECT w.key, t.us, w.seq, w.mode, w.permits, w.holds, w.used, w.waiting, w.others, 1 + w.joined, w.closed_until,
        w.forget_at, ${names(HOLDER, 'w.')}
      FROM t, w WHERE w.revision IS NULL ORDER BY w.key COLLATE "C" ON CONFLICT (key) DO NOTHING RETURNING key, 1::bigint AS first),
    done AS MATERIALIZED (SELECT key, first FROM updated UNION ALL SELECT key, first FROM inserted)${rows ? writeRows : ''}
    SELECT d.key${tell}${guard} FROM done d${
      notifies
        ? ` LEFT JOIN unnest($${letters}::text[], $${letters + 1}::text[], $${letters + 2}::text[]) AS n (key, channel, payload)
      ON n.key = d.key`
        : ''
    }`
}
