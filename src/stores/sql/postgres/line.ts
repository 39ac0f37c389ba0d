import { SPARE_TOKENS } from '../../../model/index.ts'
import { FORMAT } from '../format.ts'
import { FORGET_SLACK_MS, RULES } from '../server/rules.ts'

/*
 * The two steps of a busy key, as the model takes them, in statements that need not know the row beforehand: so two processes
 * never have to begin again because of each other. Where anything is out of the ordinary they change nothing, and the model is asked.
 */

const NOW = 't.us / 1000'
/** The state of a row as `format.ts` writes it: format, holds, line, until when it is closed. */
const STATE = '(k.state::jsonb)'
const LINE = `(${STATE} -> 2)`
/** What the only claim of the only hold says: id, expires at, since, label, actor, meta, lock delay, inbox. */
const held = (place: number, state = STATE): string => `(${state} #> '{1,0,3,0,${place}}')`
/** The first in the line: id, mode, ttl, owner, actor, label, meta, lock delay, inbox, joined at, expires at. */
const next = (place: number): string => `(${STATE} #> '{2,0,${place}}')`
const text = (value: string): string => `(${value} #>> '{}')`

const ALONE = `${STATE} -> 0 = '${FORMAT}' AND jsonb_array_length(${STATE} -> 1) = 1
  AND jsonb_array_length(${STATE} #> '{1,0,3}') = 1`
const ALL_ALIVE = `NOT jsonb_path_exists(${LINE}, 'strict $[*] ? (@[10] <= $now)', jsonb_build_object('now', ${NOW}))`

function later(needed: string): string {
  return `CASE WHEN k.forget_at >= ${needed} THEN k.forget_at ELSE ${needed} + ${FORGET_SLACK_MS} END`
}

/**
 * Ends one hold, and if others wait gives the key to the first of them in the same statement: so one commit lies between two
 * holders, and nobody can come in between. A crash may take this back: then its place in the line, which must last as long as
 * what it was offered, keeps the key for the one who believes to have it.
 */
export function handOn(keys: string): string {
  const sole = 'k.holder = c.id'
  const when = (alone: string, handed: string): string => `CASE WHEN ${sole} THEN ${alone} ELSE ${handed} END`
  const lifeMs = `least(${next(2)}::bigint, ${RULES.offerMs})`
  const last = `jsonb_array_length(${LINE}) = 1`
  const member = [
    next(0),
    `to_jsonb(${NOW} + ${lifeMs})`,
    `to_jsonb(${NOW})`,
    ...[5, 4, 6, 7, 8].map((place) => next(place)),
  ]
  const holds = `jsonb_build_array(jsonb_build_array(NULL, 'x', NULL, jsonb_build_array(jsonb_build_array(${member.join(', ')}))))`
  const handed = `k.holder IS NULL AND ${ALONE} AND ${text(held(0))} = c.id AND ${held(1)}::bigint > ${NOW}
    AND ${next(1)} = '"x"' AND ${next(3)} = 'null' AND (${STATE} -> 3)::bigint <= ${NOW} AND ${ALL_ALIVE}
    AND ${next(10)}::bigint >= ${NOW} + ${lifeMs}`
  return `done AS (
    UPDATE ${keys} k SET revision = k.revision + 1,
      seq = ${when('k.seq', 'greatest(k.seq + 1, t.us)')},
      holder = ${when('NULL', `CASE WHEN ${last} THEN ${text(next(0))} END`)},
      expires_at = ${when('0', `CASE WHEN ${last} THEN ${NOW} + ${lifeMs} ELSE 0 END`)},
      state = ${when('NULL', `jsonb_build_array(${FORMAT}, ${holds}, ${LINE} - 0, ${STATE} -> 3)::text`)},
      forget_at = ${when('k.forget_at', later(`(${NOW} + greatest(${RULES.keepSeqMs}, ${lifeMs} + ${next(7)}::bigint))`))}
    FROM t CROSS JOIN (SELECT $1::text AS key, $2::text AS id) AS c
    WHERE k.key = c.key AND CASE WHEN ${sole} THEN k.expires_at > ${NOW} ELSE ${handed} END
    RETURNING k.key, k.seq, k.state::jsonb AS state),
  told AS MATERIALIZED (${telling(`json_build_object('kind', 'granted', 'id', ${held(0, 'd.state')},
    'token', (d.seq * 256)::text, 'spare', ${SPARE_TOKENS}, 'contended', jsonb_array_length(d.state -> 2) > 0,
    'storeTimeMs', ${held(2, 'd.state')}, 'lifeMs', ${held(1, 'd.state')}::bigint - ${held(2, 'd.state')}::bigint, 'key', d.key)`)})`
}

/** Takes a place at the end of the line behind an exclusive hold. */
export function joinLine(keys: string): string {
  const expiresAtMs = `CASE WHEN k.holder IS NULL THEN ${held(1)}::bigint ELSE k.expires_at END`
  const holds = `jsonb_set(${STATE} -> 1, '{0,3,0,1}', to_jsonb(${expiresAtMs}))`
  const waiter = `jsonb_build_array(c.waiter::jsonb || jsonb_build_array(${NOW}, ${NOW} + c.ttl))`
  return `done AS (
    UPDATE ${keys} k SET revision = k.revision + 1, holder = NULL, expires_at = 0,
      state = jsonb_build_array(${FORMAT}, ${holds}, ${LINE} || ${waiter}, ${STATE} -> 3)::text,
      forget_at = ${later(`(${NOW} + c.ttl)`)}
    FROM t CROSS JOIN (SELECT $1::text AS key, $2::text AS id, $3::bigint AS ttl, $4::text AS waiter) AS c
    WHERE k.key = c.key AND ${ALONE} AND ${STATE} #> '{1,0,1}' = '"x"' AND ${text(held(0))} <> c.id
      AND ${expiresAtMs} > ${NOW} AND ${ALL_ALIVE}
      AND NOT jsonb_path_exists(${LINE}, 'strict $[*] ? (@[0] == $id)', jsonb_build_object('id', c.id))
    RETURNING k.key, k.revision, k.seq, k.state, k.forget_at),
  told AS MATERIALIZED (${telling(
    `json_build_object('kind', 'contended', 'id', ${held(0, 'd.state')}, 'key', d.key)`,
    'WHERE jsonb_array_length(d.state -> 2) = 1',
  )})`
}

/** Sends a letter to whoever holds the key now, if somebody hears it there. */
function telling(letter: string, where = ''): string {
  const inbox = text(held(7, 'd.state'))
  return `SELECT d.key, CASE WHEN ${inbox} IS NOT NULL THEN pg_notify('holdfast:' || ${inbox}, ${letter}::text)::text END
    FROM (SELECT key, seq, state::jsonb AS state FROM done) d ${where}`
}
