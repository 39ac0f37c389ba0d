import { type Clock, MOST_TOLD_OF_CONTENTION } from '../../../model/index.ts'
import { FORGET_SLACK_MS } from '../../shared/sql.ts'
import {
  CLAIM,
  type ColumnValues,
  claimValues,
  HOLDER,
  isOlder,
  KEY,
  keyValues,
  leavesNoRoom,
  NEW_CLAIM,
} from '../tables/columns.ts'
import type { ReadRequest } from '../tables/database.ts'
import { HEADS, type KeyWrite, MOST_DEAD, MOST_OF_OWNERS } from '../tables/key-snapshot.ts'
import type { TableNames } from '../tables/names.ts'

import { encodeName } from '../tables/rows.ts'
import type { Value } from './clients/client.ts'
import { bytes, type TxStep } from './clients/client.ts'
import { oneLess } from './queue-statements.ts'
import { allOrNone, BOUNDED, cachedByCount, MS, together, US } from './statements.ts'

/** The columns of the claim in the row of its key; its id comes last where it is assigned. */
const HOLDER_NAMES = Object.keys(HOLDER).slice(1)
const CLAIM_NAMES = Object.keys(CLAIM)

/** The values of the statements below, in their order. */
const INSERTED = [...Object.keys(KEY).filter((name) => name !== 'revision' && name !== 'joined'), 'joined']
const UPDATED = [...Object.keys(KEY).slice(2), 'key', 'revision']
export const CLAIMED = [
  ...['key', 'mode', 'permits', 'weight', 'id', 'weight', 'owner', 'actor', 'label', 'meta', 'inbox'],
  ...['ttl', 'lock_delay', 'needed'],
]

function columns(names: readonly string[], before = ''): string {
  return names.map((name) => `${before}\`${name}\``).join(', ')
}

function list(count: number, one: string): string {
  return Array.from({ length: count }, () => one).join(', ')
}

export type KeyTexts = ReturnType<typeof keyStatements>

/** The statements on keys. Assignments are made from left to right, so the columns that others depend on come last. */
export function keyStatements(tables: TableNames, mariadb: boolean) {
  const { keys, claims } = tables
  const bounded = mariadb ? BOUNDED : ''
  const free = `${keys}.holder IS NULL AND ${keys}.others = 0 AND ${keys}.closed_until <= VALUES(since)`
  const ifFree = (name: string, value: string, otherwise = `${keys}.\`${name}\``) =>
    `\`${name}\` = IF(${free}, ${value}, ${otherwise})`
  const seq = `GREATEST(${keys}.seq + 1, VALUES(seq))`
  const granted = `ON DUPLICATE KEY UPDATE ${ifFree('revision', `${keys}.revision + 1`)},
    ${ifFree('hold_seq', seq)}, ${ifFree('seq', `LAST_INSERT_ID(${seq})`, `${keys}.seq + LAST_INSERT_ID(0)`)},
    ${['mode', 'permits', 'holds', 'used', ...HOLDER_NAMES.slice(1)].map((name) => ifFree(name, `VALUES(\`${name}\`)`)).join(', ')},
    ${ifFree('forget_at', `IF(${keys}.forget_at < VALUES(forget_at) - ${FORGET_SLACK_MS}, VALUES(forget_at), ${keys}.forget_at)`)},
    ${ifFree('holder', 'VALUES(holder)')}`
  const names = `${columns(['key', 'revision', 'seq', 'mode', 'permits', 'holds', 'used', ...Object.keys(HOLDER)])}, forget_at`
  const given = columns(Object.keys(NEW_CLAIM))
  // The server reads lists of plain values much faster than lists of expressions, and computes the time once.
  const claimed = (count: number) => `INSERT INTO ${keys} (${names})
    WITH c (${given}) AS (VALUES ${list(count, `(${list(13, '?')})`)}), t AS (SELECT ${US} AS us, ${MS} AS ms)
    SELECT c.\`key\`, t.us, t.us, c.mode, c.permits, 1, c.weight, c.id, t.us, c.weight, c.owner, c.actor, c.label, c.meta,
      c.inbox, t.ms, t.ms + c.ttl, c.lock_delay, t.ms + c.needed + ${FORGET_SLACK_MS} FROM t, c`
  // For one claim, with the values of `CLAIMED`.
  const one = `INSERT INTO ${keys} (${names}) VALUES (?, ${US}, LAST_INSERT_ID(${US}), ?, ?, 1, ?, ?, ${US}, ?, ?, ?, ?, ?, ?,
    ${MS}, ${MS} + ?, ?, ${MS} + ? + ${FORGET_SLACK_MS})`
  const renewed = `k.expires_at = GREATEST(k.expires_at, ${MS} + ?),
    k.forget_at = IF(k.forget_at >= ${MS} + ?, k.forget_at, ${MS} + ? + ${FORGET_SLACK_MS})`
  const renew = `SET k.revision = k.revision + 1, ${renewed}`
  const release = `SET ${oneLess('k.weight')}, k.holder = NULL, k.hold_seq = 0, k.weight = 0, k.owner = NULL, k.actor = NULL,
    k.label = NULL, k.meta = NULL, k.inbox = NULL, k.since = 0, k.expires_at = 0, k.lock_delay = 0`
  const sole = `WHERE k.\`key\` = ? AND k.holder = ? AND k.expires_at > ${MS}`
  const soles = (count: number) => `WHERE k.\`key\` IN (${list(count, '?')})
    AND (k.\`key\`, k.holder) IN (${list(count, '(?, ?)')}) AND k.expires_at > ${MS} AND k.others = 0`
  const onSole = (set: string, single: string) => ({
    one: single,
    each: cachedByCount((count) => together(`UPDATE ${keys} k ${set} ${sole} AND k.others = 0`, count)),
    // Without the hint the server reads, and locks, the whole of a small table.
    all: cachedByCount((count) =>
      allOrNone(`UPDATE ${keys} k FORCE INDEX (PRIMARY) ${set} ${soles(count)}`, count),
    ),
  })
  const deltas = ['holds', 'used', 'waiting', 'others', 'next_ticket'].map(
    (name) => `k.${name} = k.${name} + ?`,
  )
  return {
    rows: cachedByCount(
      (count) =>
        `SELECT ${US} AS us, k.* FROM (SELECT 1) one LEFT JOIN ${keys} k ON k.\`key\` IN (${list(count, '?')})`,
    ),
    page: (first: boolean) => `SELECT \`key\` FROM ${keys}
      WHERE \`key\` ${first ? '>=' : '>'} ? AND (holder IS NOT NULL OR others > 0) ORDER BY \`key\` LIMIT ?`,
    claimFree: cachedByCount((count) =>
      count === 1
        ? `${bounded}${one} ${granted}`
        : `${bounded}${claimed(count)} ${granted} RETURNING ${US} AS us, \`key\`, holder, since, hold_seq`,
    ),
    /** For one claim the insert id is 2 if others wait, else 1. */
    renewSole: onSole(
      renew,
      `${bounded}UPDATE ${keys} k SET k.revision = k.revision + 1 + 0 * LAST_INSERT_ID(1 + (k.waiting > 0)), ${renewed}
        ${sole} AND (k.others = 0 OR k.mode = 'exclusive' OR ${isOlder('k.hold_seq')})`,
    ),
    releaseSole: onSole(
      release,
      `${bounded}UPDATE ${keys} k ${release} ${sole} AND (k.others = 0 OR k.owner IS NULL AND ${leavesNoRoom(isOlder('k.hold_seq'))})`,
    ),
    insert: `INSERT INTO ${keys} (${columns(INSERTED.slice(0, -1))}, revision, next_ticket)
      VALUES (${list(INSERTED.length - 1, '?')}, ${US}, 1 + ?)`,
    update: `UPDATE ${keys} k SET k.revision = k.revision + 1, k.seq = ?, k.mode = ?, k.permits = ?, ${deltas.join(', ')},
      k.closed_until = ?, k.forget_at = GREATEST(k.forget_at, ?), ${columns(Object.keys(HOLDER), 'k.').replaceAll('`,', '` = ?,')} = ?
      WHERE k.\`key\` = ? AND k.revision = ?`,
    remove: (count: number, dead: boolean) =>
      `DELETE FROM ${claims} WHERE \`key\` = ? AND id IN (${list(count, '?')})${dead ? ' AND expires_at <= ?' : ''}`,
    /** The ticket of a new waiter counts from the first ticket that the key has just issued. */
    put: (fresh: boolean) => `INSERT INTO ${claims} (${columns(CLAIM_NAMES)})
      VALUES (${CLAIM_NAMES.map((name) => (fresh && name === 'ticket' ? `? + (SELECT next_ticket FROM ${keys} WHERE \`key\` = ?) - ?` : '?')).join(', ')})
      ON DUPLICATE KEY UPDATE expires_at = IF(state = VALUES(state), GREATEST(expires_at, VALUES(expires_at)), VALUES(expires_at)),
        ${CLAIM_NAMES.filter((name) => !['key', 'id', 'expires_at', 'state'].includes(name))
          .map((name) => `\`${name}\` = VALUES(\`${name}\`)`)
          .join(', ')}, state = VALUES(state)`,
    renewWaiting: (count: number) => `${bounded}UPDATE ${claims} FORCE INDEX (PRIMARY)
      SET expires_at = GREATEST(expires_at, ${MS} + ?)
      WHERE \`key\` = ? AND id IN (${list(count, '?')}) AND state = 'waiting' AND expires_at > ${MS}`,
    find: (counts: readonly number[]) => {
      const parts = counts.flatMap((count) => [
        `(SELECT \`key\`, id, state, ticket, seq, owner, since, expires_at FROM ${claims} WHERE \`key\` = ? AND id IN (${list(count, '?')}))`,
        `(SELECT \`key\`, holder, 'held', 0, hold_seq, owner, since, expires_at FROM ${keys}
          WHERE \`key\` = ? AND holder IN (${list(count, '?')}))`,
        `(SELECT \`key\`, NULL, NULL, ticket, NULL, NULL, NULL, NULL FROM ${claims} WHERE \`key\` = ? AND state = 'waiting'
          ORDER BY ticket LIMIT ${HEADS})`,
      ])
      return `SELECT ${US} AS us, f.* FROM (SELECT 1) one LEFT JOIN (${parts.join(' UNION ALL ')}) f ON TRUE`
    },
    excerpts: (needs: readonly ReadRequest[], waits: ReadonlySet<string>) =>
      needs.map((need) => excerptText(keys, claims, need, waits.has(need.key))).join(' UNION ALL '),
  }
}

/** Reads the row of a key with some of its claims in one snapshot. */
function excerptText(
  keys: string,
  claims: string,
  { ids, owners, heads }: ReadRequest,
  waits: boolean,
): string {
  const from = `SELECT * FROM ${claims} WHERE \`key\` = ?`
  const whole = heads === Number.POSITIVE_INFINITY
  const dead = `expires_at <= ${MS} ORDER BY expires_at LIMIT ${MOST_DEAD}`
  const most = waits ? 1 : MOST_TOLD_OF_CONTENTION
  const parts = whole
    ? [from]
    : [
        ...(ids.length > 0 ? [`${from} AND id IN (${list(ids.length, '?')})`] : []),
        ...(owners.length > 0
          ? [
              `${from} AND owner IN (${list(owners.length, '?')}) ORDER BY expires_at DESC LIMIT ${MOST_OF_OWNERS}`,
            ]
          : []),
        `${from} AND state = 'held' AND ${dead}`,
        `${from} AND state = 'waiting' AND ${dead}`,
        `${from} AND state = 'held' AND expires_at > ${MS} ORDER BY expires_at LIMIT ${most}`,
        `${from} AND state = 'waiting' AND expires_at > ${MS} ORDER BY ticket LIMIT ${heads}`,
      ]
  const claim = CLAIM_NAMES.slice(1).map((name) => `c.\`${name}\` AS c_${name}`)
  return `(SELECT ${US} AS us, k.*, ${claim.join(', ')} FROM ${keys} k
    LEFT JOIN (${parts.map((part) => `(${part})`).join(' UNION ')}) c ON TRUE WHERE k.\`key\` = ?)`
}

export function excerptValues({
  key,
  ids,
  owners,
  heads,
}: {
  key: Buffer
  ids: readonly Buffer[]
  owners: readonly Buffer[]
  heads: number
}): Value[] {
  if (heads === Number.POSITIVE_INFINITY) return [key, key]
  return [
    ...(ids.length > 0 ? [key, ...ids] : []),
    ...(owners.length > 0 ? [key, ...owners] : []),
    ...[key, key, key, key, key],
  ]
}

/** The values of columns in the order of their names, as the client takes them. */
export function valuesOf(row: ColumnValues, names: readonly string[]): Value[] {
  return names.map((name) => {
    const value = row[name]
    return typeof value === 'string' ? bytes(value) : (value as Value)
  })
}

/** The statements that write one key. */
export function stepsOf(texts: KeyTexts, write: KeyWrite, { nowMs }: Clock): TxStep[] {
  const key = bytes(write.key)
  const row = keyValues(write)
  const written: TxStep =
    write.revision === null
      ? { text: texts.insert, values: valuesOf(row, INSERTED) }
      : { text: texts.update, values: valuesOf(row, UPDATED), affects: 1 }
  // A claim that was renewed at the last moment is not removed, and the transaction starts again.
  const removed = [false, true].flatMap((dead) => {
    const ids = write.gone.filter((one) => one.dead === dead).map(({ id }) => bytes(encodeName(id)))
    const values = [key, ...ids, ...(dead ? [nowMs] : [])]
    return ids.length === 0 ? [] : [{ text: texts.remove(ids.length, dead), values, affects: ids.length }]
  })
  const put = write.put.map((claim) => {
    const values = valuesOf({ ...claimValues(claim), key: write.key }, CLAIM_NAMES)
    if (claim.isNew) values.splice(CLAIM_NAMES.indexOf('ticket') + 1, 0, key, write.joined)
    return { text: texts.put(claim.isNew), values }
  })
  return [written, ...removed, ...put]
}
