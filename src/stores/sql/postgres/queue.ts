import { SPARE_TOKENS } from '../../../model/index.ts'
import type { TableNames } from '../server/names.ts'
import { RULES } from '../server/rules.ts'
import { UNHEARD } from './push.ts'
import { given, later, NOW } from './statements.ts'

/*
 * The two steps of a key that is held exclusively, as the model takes them, in statements that need not read beforehand: so two
 * processes never have to begin again because of each other. Where anything is out of the ordinary they change nothing, and the model is asked.
 */

export const JOINING = {
  key: 'text',
  id: 'text',
  ttl: 'bigint',
  actor: 'text',
  label: 'text',
  meta: 'text',
  inbox: 'text',
  lock_delay: 'bigint',
} as const

/** `k.revision` changes with the first waiter alone: those behind it change nobody's decision. */
export function join({ keys, claims }: TableNames): string {
  return `k AS (
    UPDATE ${keys} k SET revision = k.revision + CASE WHEN k.waiting = 0 THEN 1 ELSE 0 END, waiting = k.waiting + 1,
      others = k.others + 1, next_ticket = k.next_ticket + 1, forget_at = ${later(`(${NOW} + c.ttl)`)}
    FROM t CROSS JOIN ${given(false, JOINING)}
    WHERE k.key = c.key AND k.mode = 'exclusive' AND k.holder <> c.id AND k.expires_at > ${NOW}
      AND NOT EXISTS (SELECT 1 FROM ${claims} x WHERE x.key = c.key AND x.id = c.id)
    RETURNING k.key, k.holder, k.label, k.since, k.expires_at, k.waiting, k.next_ticket - 1 AS ticket, k.inbox),
  joined AS (
    INSERT INTO ${claims} (key, id, state, ticket, mode, permits, weight, seq, actor, label, meta, inbox, since, expires_at,
      ttl, lock_delay)
    SELECT k.key, c.id, 'waiting', k.ticket, 'exclusive', 0, 0, 0, c.actor, c.label, c.meta, c.inbox, ${NOW}, ${NOW} + c.ttl,
      c.ttl, c.lock_delay FROM t CROSS JOIN k CROSS JOIN ${given(false, JOINING)})
  SELECT t.us, k.label, k.since, k.expires_at, k.waiting, CASE WHEN k.waiting = 1 THEN
    ${telling('k', `json_build_object('kind', 'contended', 'id', k.holder, 'key', k.key)`)} END AS told
  FROM t CROSS JOIN k`
}

/**
 * Ends one hold: that of a claim that stands alone, in `sole`, or else in favour of the first waiter, so that one commit lies between
 * two holders and nobody can come in between. A crash may take this back: then its position, which must last as long as
 * the offer, keeps the key for the one who believes to have it.
 */
export function handOn({ keys, claims }: TableNames): string {
  const lifeMs = `least(n.ttl, ${RULES.offerMs})`
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
      forget_at = ${later(`(${NOW} + greatest(${RULES.keepSeqMs}, n.life + n.lock_delay))`)}
    FROM t, n WHERE k.key = n.key AND k.revision = n.revision
    RETURNING k.key, k.seq, k.holder, k.waiting, k.inbox, k.since, n.life),
  left_queue AS (DELETE FROM ${claims} c USING handed h WHERE c.key = h.key AND c.id = h.holder)
  SELECT key, seq, contended, NULL AS told FROM sole
  UNION ALL SELECT h.key, h.seq, false, ${telling(
    'h',
    `json_build_object('kind', 'granted', 'id', h.holder, 'token', (h.seq * 256)::text, 'spare', ${SPARE_TOKENS},
      'contended', h.waiting > 0, 'storeTimeMs', h.since, 'lifeMs', h.life, 'key', h.key)`,
  )} FROM handed h`
}

/** Sends a notification to the inbox of a row, if somebody listens there; what it gives back is empty. */
function telling(row: string, notification: string): string {
  return `CASE WHEN ${row}.inbox NOT LIKE '${UNHEARD}%' THEN
    pg_notify('holdfast:' || ${row}.inbox, ${notification}::text)::text END`
}
