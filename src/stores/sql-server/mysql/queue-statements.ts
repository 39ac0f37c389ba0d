import type { Blocked, Claim } from '../../../model/index.ts'
import { FORGET_SLACK_MS } from '../../shared/sql.ts'
import { admitsNobody, keepsOut, leavesNoRoom, newClaimValues } from '../tables/columns.ts'
import type { QuickAnswer } from '../tables/database.ts'
import { positionOfJoined } from '../tables/key-snapshot.ts'
import type { TableNames } from '../tables/names.ts'

import { clockOf, joinedFrom } from '../tables/rows.ts'
import type { MysqlClient } from './clients/client.ts'
import { valuesOf } from './key-statements.ts'
import { atomically, MS, US } from './statements.ts'

const KEY = '`key`'

/** Assignments for one holder less. They are made from left to right. */
export function oneLess(weight: string): string {
  return `k.revision = k.revision + 1, k.mode = IF(k.holds > 1, k.mode, NULL), k.permits = IF(k.holds > 1, k.permits, 0),
    k.holds = k.holds - 1, k.used = k.used - ${weight}`
}

/**
 * The model's steps on a contended key, without a read beforehand, so that two processes never make each other start again. In all but
 * the usual cases they change nothing and leave the step to the model. For MariaDB alone, which has compound statements.
 */
export class QueueSteps {
  private readonly client: MysqlClient
  private readonly text: ReturnType<typeof queueStatements>

  constructor(client: MysqlClient, tables: TableNames) {
    this.client = client
    this.text = queueStatements(tables)
  }

  /**
   * A claim joins behind an exclusive hold, or behind a waiter that cannot be admitted. The revision changes with the first waiter only:
   * those behind it affect no decision.
   */
  async join(claim: Claim, inbox: string | null): Promise<Blocked | null> {
    const row = newClaimValues(claim, inbox)
    const steps = [
      { text: this.text.joinKey, values: valuesOf(row, JOINED_KEY), affects: 1 },
      { text: this.text.joinClaim, values: valuesOf(row, JOINED_CLAIM) },
    ]
    const joined = await atomically(this.client, true, steps, {
      text: this.text.joined,
      values: valuesOf(row, ['key', 'key']),
    })
    return joined === null ? null : positionOfJoined(joinedFrom(joined), clockOf([joined]))
  }

  /** Renews a hold in a row of its own, which affects no decision. */
  async renewOwn(claim: Claim): Promise<QuickAnswer | null> {
    const values = newClaimValues(claim, null)
    const steps = [{ text: this.text.renewOwn, values: valuesOf(values, RENEWED), affects: 1 }]
    const answer = { text: this.text.renewed, values: valuesOf(values, HOLD) }
    const row = await atomically(this.client, true, steps, answer)
    if (row === null || Number(row.lets_in) === 1) return null
    return { seq: Number(row.seq), contended: Number(row.contended) === 1 }
  }

  /** Ends a hold in a row of its own, where that admits no waiter. */
  async releaseOwn(claim: Claim): Promise<QuickAnswer | null> {
    const values = valuesOf(newClaimValues(claim, null), HOLD)
    const row = await atomically(this.client, true, [
      { text: this.text.leaveKey, values, affects: 1 },
      { text: this.text.leaveClaim, values, affects: 1 },
    ])
    return row === null ? null : { seq: 0, contended: false }
  }
}

/** The values of the statements below, in their order. */
const JOINED_KEY = ['ttl', 'ttl', 'key', 'id', 'mode', 'mode', 'permits']
const JOINED_CLAIM = [
  ...['id', 'mode', 'permits', 'weight', 'actor', 'label', 'meta', 'inbox'],
  ...['ttl', 'ttl', 'lock_delay', 'key'],
]
const HOLD = ['key', 'id']
const RENEWED = ['ttl', ...HOLD, 'mode', 'permits', 'weight']

function queueStatements(tables: TableNames) {
  const { keys, claims } = tables
  const own = "h.`key` = ? AND h.id = ? AND h.state = 'held'"
  const held = `${claims} h WHERE h.\`key\` = k.\`key\` AND h.state = 'held'`
  const first = `SELECT w.expires_at FROM ${claims} w WHERE w.\`key\` = k.\`key\` AND w.state = 'waiting' ORDER BY w.ticket LIMIT 1`
  const isHeld = `k.mode = 'exclusive' AND k.expires_at > ${MS} AND ? <> 'permits'`
  const isWaitedFor = `k.waiting > 0 AND (k.mode = 'permits') = (? = 'permits') AND k.permits = ?
    AND k.holds > 0 AND (k.holder IS NULL OR k.expires_at > ${MS}) AND (${first}) > ${MS} AND ${keepsOut(claims, KEY)}
    AND NOT EXISTS (SELECT 1 FROM ${held} AND h.expires_at <= ${MS})`
  return {
    joinKey: `UPDATE ${keys} k SET k.revision = k.revision + (k.waiting = 0), k.waiting = k.waiting + 1, k.others = k.others + 1,
      k.next_ticket = k.next_ticket + 1, k.forget_at = IF(k.forget_at >= ${MS} + ?, k.forget_at, ${MS} + ? + ${FORGET_SLACK_MS})
      WHERE k.\`key\` = ? AND NOT (k.holder <=> ?) AND (${isHeld} OR ${isWaitedFor})`,
    joinClaim: `INSERT INTO ${claims} (\`key\`, id, state, ticket, mode, permits, weight, seq, owner, actor, label, meta, inbox,
        since, expires_at, ttl, lock_delay)
      SELECT \`key\`, ?, 'waiting', next_ticket - 1, ?, ?, ?, 0, NULL, ?, ?, ?, ?, ${MS}, ${MS} + ?, ?, ?
      FROM ${keys} WHERE \`key\` = ? AND @holdfast_done = 1`,
    joined: `SELECT @holdfast_done AS done, ${US} AS us, k.waiting, COALESCE(k.label, h.label) AS label,
        IF(k.holder IS NULL, h.since, k.since) AS since, IF(k.holder IS NULL, h.expires_at, k.expires_at) AS expires_at
      FROM ${keys} k LEFT JOIN (SELECT * FROM ${claims} WHERE \`key\` = ? AND state = 'held' ORDER BY expires_at LIMIT 1) h
        ON k.holder IS NULL WHERE k.\`key\` = ?`,
    renewOwn: `UPDATE ${claims} h SET h.expires_at = GREATEST(h.expires_at, ${MS} + ?)
      WHERE ${own} AND h.expires_at > ${MS} AND h.owner IS NULL AND h.mode = ? AND h.permits = ? AND h.weight = ?`,
    renewed: `SELECT @holdfast_done AS done, h.seq, k.waiting > 0 AS contended, NOT ${admitsNobody(claims, KEY, 'h.seq')} AS lets_in
      FROM ${claims} h JOIN ${keys} k ON k.\`key\` = h.\`key\` WHERE ${own}`,
    leaveKey: `UPDATE ${keys} k JOIN ${claims} h ON h.\`key\` = k.\`key\` SET ${oneLess('h.weight')}, k.others = k.others - 1
      WHERE ${own} AND ${leavesNoRoom(admitsNobody(claims, KEY, 'h.seq'))}`,
    leaveClaim: `DELETE h FROM ${claims} h WHERE ${own} AND h.owner IS NULL AND h.expires_at > ${MS}`,
  }
}
