import { SPARE_TOKENS } from '../../../model/index.ts'
import { FORMAT } from '../format.ts'
import { FORGET_SLACK_MS, RULES } from '../server/rules.ts'

/*
 * The two steps of a busy key, as the model takes them, in statements that need not know the row beforehand: so two processes
 * never have to begin again because of each other. Where anything is out of the ordinary they change nothing, and the model is asked.
 */

const NOW = 't.us / 1000'

/**
 * The row `k` with its state taken apart, as `format.ts` writes it: `state` is format, holds, line, until when it is closed; `held` what
 * the only claim of the only hold says (id, expires at, since, label, actor, meta, lock delay, inbox); `next` the first in the line (id,
 * mode, ttl, owner, actor, label, meta, lock delay, inbox, joined at, expires at). `OFFSET 0` keeps the server from reading the text
 * anew wherever a part is named.
 */
const parts = (
  state: string,
): string => `(SELECT s.state, s.state #> '{1,0,3,0}' AS held, s.state #> '{2,0}' AS next, s.state -> 2 AS line
  FROM (SELECT ${state} AS state OFFSET 0) s OFFSET 0) x`
const held = (place: number): string => `(x.held -> ${place})`
const next = (place: number): string => `(x.next -> ${place})`
const text = (value: string): string => `(${value} #>> '{}')`

const ALONE = `x.state -> 0 = '${FORMAT}' AND jsonb_array_length(x.state -> 1) = 1
  AND jsonb_array_length(x.state #> '{1,0,3}') = 1`
const ALL_ALIVE = `NOT jsonb_path_exists(x.line, 'strict $[*] ? (@[10] <= $now)', jsonb_build_object('now', ${NOW}))`

function later(needed: string): string {
  return `CASE WHEN k.forget_at >= ${needed} THEN k.forget_at ELSE ${needed} + ${FORGET_SLACK_MS} END`
}

/**
 * Ends one hold, and if others wait gives the key to the first of them in the same statement: so one commit lies between two
 * holders, and nobody can come in between. A crash may take this back: then its place in the line, which must last as long as
 * what it was offered, keeps the key for the one who believes to have it. Brings no row when it did nothing.
 */
export function handOn(keys: string): string {
  const sole = 'k.holder = c.id'
  const when = (alone: string, handed: string): string => `CASE WHEN ${sole} THEN ${alone} ELSE ${handed} END`
  const lifeMs = `least(${next(2)}::bigint, ${RULES.offerMs})`
  const last = 'jsonb_array_length(x.line) = 1'
  const member = [
    next(0),
    `to_jsonb(${NOW} + ${lifeMs})`,
    `to_jsonb(${NOW})`,
    ...[5, 4, 6, 7, 8].map((place) => next(place)),
  ]
  const holds = `jsonb_build_array(jsonb_build_array(NULL, 'x', NULL, jsonb_build_array(jsonb_build_array(${member.join(', ')}))))`
  const handed = `SELECT ${ALONE} AND ${text(held(0))} = c.id AND ${held(1)}::bigint > ${NOW}
    AND ${next(1)} = '"x"' AND ${next(3)} = 'null' AND (x.state -> 3)::bigint <= ${NOW} AND ${ALL_ALIVE}
    AND ${next(10)}::bigint >= ${NOW} + ${lifeMs} FROM ${parts('k.state::jsonb')}`
  return `done AS (
    UPDATE ${keys} k SET (revision, seq, holder, expires_at, state, forget_at) = (SELECT
      k.revision + 1,
      ${when('k.seq', 'greatest(k.seq + 1, t.us)')},
      ${when('NULL', `CASE WHEN ${last} THEN ${text(next(0))} END`)},
      ${when('0', `CASE WHEN ${last} THEN ${NOW} + ${lifeMs} ELSE 0 END`)},
      ${when('NULL', `jsonb_build_array(${FORMAT}, ${holds}, x.line - 0, x.state -> 3)::text`)},
      ${when('k.forget_at', later(`(${NOW} + greatest(${RULES.keepSeqMs}, ${lifeMs} + ${next(7)}::bigint))`))}
      FROM ${parts(when('NULL', 'k.state::jsonb'))})
    FROM t CROSS JOIN (SELECT $1::text AS key, $2::text AS id) AS c
    WHERE k.key = c.key AND CASE WHEN ${sole} THEN k.expires_at > ${NOW} ELSE k.holder IS NULL AND (${handed}) END
    RETURNING k.key, k.seq, k.state)
  SELECT concat(d.seq, ${telling(`json_build_object('kind', 'granted', 'id', ${held(0)},
    'token', (d.seq * 256)::text, 'spare', ${SPARE_TOKENS}, 'contended', jsonb_array_length(x.line) > 0,
    'storeTimeMs', ${held(2)}, 'lifeMs', ${held(1)}::bigint - ${held(2)}::bigint, 'key', d.key)`)}) AS said ${FROM_DONE}`
}

/** Takes a place at the end of the line behind an exclusive hold. */
export function joinLine(keys: string): string {
  const expiresAtMs = `CASE WHEN k.holder IS NULL THEN ${held(1)}::bigint ELSE k.expires_at END`
  const holds = `jsonb_set(x.state -> 1, '{0,3,0,1}', to_jsonb(${expiresAtMs}))`
  const waiter = `jsonb_build_array(c.waiter::jsonb || jsonb_build_array(${NOW}, ${NOW} + c.ttl))`
  const row = parts('k.state::jsonb')
  return `done AS (
    UPDATE ${keys} k SET revision = k.revision + 1, holder = NULL, expires_at = 0,
      state = (SELECT jsonb_build_array(${FORMAT}, ${holds}, x.line || ${waiter}, x.state -> 3)::text FROM ${row}),
      forget_at = ${later(`(${NOW} + c.ttl)`)}
    FROM t CROSS JOIN (SELECT $1::text AS key, $2::text AS id, $3::bigint AS ttl, $4::text AS waiter) AS c
    WHERE k.key = c.key AND (SELECT ${ALONE} AND x.state #> '{1,0,1}' = '"x"' AND ${text(held(0))} <> c.id
      AND ${expiresAtMs} > ${NOW} AND ${ALL_ALIVE}
      AND NOT jsonb_path_exists(x.line, 'strict $[*] ? (@[0] == $id)', jsonb_build_object('id', c.id)) FROM ${row})
    RETURNING k.key, k.revision, k.seq, k.state, k.forget_at),
  told AS MATERIALIZED (
    SELECT d.key, ${telling(`json_build_object('kind', 'contended', 'id', ${held(0)}, 'key', d.key)`)}
    ${FROM_DONE} WHERE jsonb_array_length(x.line) = 1)`
}

const FROM_DONE = `FROM done d CROSS JOIN LATERAL ${parts('d.state::jsonb')}`

/** Sends a letter to whoever holds the key now, if somebody hears it there; what it gives back is empty. */
function telling(letter: string): string {
  const inbox = text(held(7))
  return `CASE WHEN ${inbox} IS NOT NULL THEN pg_notify('holdfast:' || ${inbox}, ${letter}::text)::text END`
}
