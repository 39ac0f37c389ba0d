import { SPARE_TOKENS } from '../../../model/index.ts'
import { SQL_RULES } from '../../shared/sql.ts'
import { admitsNobody, keepsOut, leavesNoRoom } from '../tables/columns.ts'

import type { TableNames } from '../tables/names.ts'

import { POLLED } from './inbox.ts'
import { given, later, NOW } from './statements.ts'

/*
 * The model's steps on a contended key, without a read beforehand, so that two processes never make each other start again. In all but
 * the usual cases they change nothing and leave the step to the model.
 */

export const JOINING = {
  key: 'text',
  id: 'text',
  ttl: 'bigint',
  mode: 'text',
  permits: 'int',
  weight: 'int',
  actor: 'text',
  label: 'text',
  meta: 'text',
  inbox: 'text',
  lock_delay: 'bigint',
} as const

export const OWN = {
  key: 'text',
  id: 'text',
  ttl: 'bigint',
  mode: 'text',
  permits: 'int',
  weight: 'int',
} as const

/** Assignments for one holder less. */
export const ONE_LESS = `revision = k.revision + 1, mode = CASE WHEN k.holds > 1 THEN k.mode END,
  permits = CASE WHEN k.holds > 1 THEN k.permits ELSE 0 END, holds = k.holds - 1`

/**
 * A claim joins behind an exclusive hold, or behind a waiter that cannot be admitted. `k.revision` changes with the first waiter only:
 * those behind it affect no decision.
 */
export function joinQueue(tables: TableNames): string {
  const { keys, claims } = tables
  const claim = given(false, JOINING)
  const first = `SELECT w.expires_at FROM ${claims} w WHERE w.key = k.key AND w.state = 'waiting' ORDER BY w.ticket LIMIT 1`
  const held = `${claims} h WHERE h.key = k.key AND h.state = 'held'`
  const isHeld = `k.mode = 'exclusive' AND k.expires_at > ${NOW} AND c.mode <> 'permits'`
  const isWaitedFor = `k.waiting > 0 AND (k.mode = 'permits') = (c.mode = 'permits') AND k.permits = c.permits
    AND k.holds > 0 AND (k.holder IS NULL OR k.expires_at > ${NOW}) AND (${first}) > ${NOW} AND ${keepsOut(claims, 'key')}
    AND NOT EXISTS (SELECT 1 FROM ${held} AND h.expires_at <= ${NOW})`
  return `k AS (
    UPDATE ${keys} k SET revision = k.revision + CASE WHEN k.waiting = 0 THEN 1 ELSE 0 END, waiting = k.waiting + 1,
      others = k.others + 1, next_ticket = k.next_ticket + 1, forget_at = ${later(`(${NOW} + c.ttl)`)}
    FROM t CROSS JOIN ${claim}
    WHERE k.key = c.key AND k.holder IS DISTINCT FROM c.id AND (${isHeld} OR ${isWaitedFor})
      AND NOT EXISTS (SELECT 1 FROM ${claims} x WHERE x.key = c.key AND x.id = c.id)
    RETURNING k.key, k.holder, k.label, k.since, k.expires_at, k.waiting, k.next_ticket - 1 AS ticket, k.inbox),
  joined AS (
    INSERT INTO ${claims} (key, id, state, ticket, mode, permits, weight, seq, actor, label, meta, inbox, since, expires_at,
      ttl, lock_delay)
    SELECT k.key, c.id, 'waiting', k.ticket, c.mode, c.permits, c.weight, 0, c.actor, c.label, c.meta, c.inbox, ${NOW},
      ${NOW} + c.ttl, c.ttl, c.lock_delay FROM t CROSS JOIN k CROSS JOIN ${claim})
  SELECT t.us, k.waiting, coalesce(k.label, h.label) AS label,
    CASE WHEN k.holder IS NULL THEN h.since ELSE k.since END AS since,
    CASE WHEN k.holder IS NULL THEN h.expires_at ELSE k.expires_at END AS expires_at, CASE WHEN k.waiting = 1 THEN
    ${notified('k', `json_build_object('kind', 'contended', 'id', k.holder, 'key', k.key)`)} END AS told
  FROM t CROSS JOIN k LEFT JOIN LATERAL (SELECT * FROM ${held} ORDER BY h.expires_at LIMIT 1) h ON k.holder IS NULL`
}

/** Renews a hold in a row of its own, which affects no decision. */
export function renewOwn(tables: TableNames): string {
  return `UPDATE ${tables.claims} h SET expires_at = greatest(h.expires_at, ${NOW} + c.ttl)
    FROM t CROSS JOIN ${given(false, OWN)} JOIN ${tables.keys} k ON k.key = c.key
    WHERE h.key = c.key AND h.id = c.id AND h.state = 'held' AND h.expires_at > ${NOW} AND h.owner IS NULL AND h.mode = c.mode
      AND h.permits = c.permits AND h.weight = c.weight AND ${admitsNobody(tables.claims, 'key', 'h.seq')}
    RETURNING h.key, h.seq, k.waiting > 0 AS contended`
}

/** Ends a hold in a row of its own, where that admits no waiter. */
export function releaseOwn(tables: TableNames): string {
  const { keys, claims } = tables
  return `l AS MATERIALIZED (
    SELECT k.*, h.id, h.seq AS own_seq FROM t CROSS JOIN ${given(false, { key: 'text', id: 'text' })}
    JOIN ${claims} h ON h.key = c.key AND h.id = c.id AND h.state = 'held' AND h.owner IS NULL AND h.expires_at > ${NOW}
    JOIN ${keys} k ON k.key = c.key FOR UPDATE OF k),
  gone AS (
    DELETE FROM ${claims} h USING l k WHERE h.key = k.key AND h.id = k.id AND ${leavesNoRoom(admitsNobody(claims, 'key', 'k.own_seq'))}
    RETURNING h.key, h.weight)
  UPDATE ${keys} k SET ${ONE_LESS}, used = k.used - g.weight, others = k.others - 1
  FROM gone g WHERE k.key = g.key RETURNING k.key, k.seq, false AS contended`
}

/**
 * Ends one hold: one that admits no waiter in `sole`, else by a handoff to the first waiter in the same commit, so that no other claim
 * comes in between. A crash may undo the handoff: then the waiter's position, which must last as long as the offer, keeps the key for
 * the process that believes it holds it.
 */
export function handOff({ keys, claims }: TableNames): string {
  const lifeMs = `least(n.ttl, ${SQL_RULES.offerMs})`
  return `n AS MATERIALIZED (
    SELECT n.*, k.revision, ${lifeMs} AS life FROM t CROSS JOIN ${given(false, { key: 'text', id: 'text' })}
    JOIN ${keys} k ON k.key = c.key AND k.holder = c.id AND k.expires_at > ${NOW} AND k.waiting > 0
      AND k.waiting = k.others AND k.closed_until <= ${NOW}
    CROSS JOIN LATERAL (SELECT * FROM ${claims} n WHERE n.key = k.key AND n.state = 'waiting' ORDER BY n.ticket LIMIT 1) n
    WHERE n.mode = 'exclusive' AND n.owner IS NULL AND n.expires_at >= ${NOW} + ${lifeMs}),
  handed AS (
    UPDATE ${keys} k SET revision = k.revision + 1, seq = greatest(k.seq + 1, t.us), hold_seq = greatest(k.seq + 1, t.us),
      mode = 'exclusive', permits = 0, holds = 1, used = 0, weight = 0, waiting = k.waiting - 1, others = k.others - 1,
      holder = n.id, owner = NULL, actor = n.actor, label = n.label, meta = n.meta, inbox = n.inbox, since = ${NOW},
      expires_at = ${NOW} + n.life, lock_delay = n.lock_delay,
      forget_at = ${later(`(${NOW} + greatest(${SQL_RULES.keepSeqMs}, n.life + n.lock_delay))`)}
    FROM t, n WHERE k.key = n.key AND k.revision = n.revision
    RETURNING k.key, k.seq, k.holder, k.waiting, k.inbox, k.since, n.life),
  left_queue AS (DELETE FROM ${claims} c USING handed h WHERE c.key = h.key AND c.id = h.holder)
  SELECT key, seq, contended, NULL AS told FROM sole
  UNION ALL SELECT h.key, h.seq, false, ${notified(
    'h',
    `json_build_object('kind', 'granted', 'id', h.holder, 'token', (h.seq * 256)::text, 'spare', ${SPARE_TOKENS},
      'contended', h.waiting > 0, 'storeTimeMs', h.since, 'lifeMs', h.life, 'key', h.key)`,
  )} FROM handed h`
}

/** Sends a notification to the inbox of a row, if its process listens. Its result is empty. */
function notified(row: string, notification: string): string {
  return `CASE WHEN ${row}.inbox NOT LIKE '${POLLED}%' THEN
    pg_notify('holdfast:' || ${row}.inbox, ${notification}::text)::text END`
}
