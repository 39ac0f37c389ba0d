import type { Blocked, Claim, Clock, KeyNotification, KeyState } from '../../../model/index.ts'
import { encodeNotification } from '../../shared/notifications.ts'
import {
  CLAIM,
  type Columns,
  type ColumnValues,
  claimValues,
  GONE,
  KEY,
  keyValues,
  NEW_CLAIM,
  newClaimValues,
} from '../tables/columns.ts'
import type {
  ClaimRef,
  ClaimStatuses,
  KeySnapshot,
  KeyTable,
  QuickAnswer,
  ReadRequest,
  RowChange,
  SaveOptions,
  TableSnapshot,
} from '../tables/database.ts'
import { type InboxTable, leaveNotifications } from '../tables/inbox.ts'
import {
  HEADS,
  keySnapshotOf,
  missingOwners,
  needsMoreHeads,
  positionOfJoined,
  writeOf,
} from '../tables/key-snapshot.ts'
import type { TableNames } from '../tables/names.ts'
import {
  claimRowOf,
  clockOf,
  encodeName,
  joinedFrom,
  keyRowOf,
  type Row,
  statusesOf,
} from '../tables/rows.ts'
import type { PostgresClient } from './clients/client.ts'
import { channelOf, POLLED } from './inbox.ts'
import { EVERYTHING, keyStatements } from './key-statements.ts'
import { JOINING, OWN } from './queue-statements.ts'
import { inboxTable } from './records.ts'

import { FLUSH } from './statements.ts'

export class PostgresKeys implements KeyTable {
  private readonly client: PostgresClient
  private readonly inboxes: InboxTable
  private readonly relaxed: boolean
  private readonly text: ReturnType<typeof keyStatements>

  constructor(client: PostgresClient, names: TableNames, relaxed: boolean) {
    this.client = client
    this.inboxes = inboxTable(names, client)
    this.relaxed = relaxed
    this.text = keyStatements(names, relaxed)
  }

  readonly needsMore = needsMoreHeads

  async read(
    keys: readonly string[],
    needs: readonly ReadRequest[] = keys.map((key) => ({ key, ids: [], owners: [], heads: HEADS })),
  ): Promise<TableSnapshot<KeySnapshot>> {
    const found = await this.client.run(this.text.look, [
      needs.map(({ key }) => key),
      needs.map(({ ids }) => arrayOf(ids.map(encodeName))),
      needs.map(({ owners }) => arrayOf(owners.map(encodeName))),
      needs.map(({ heads }) => Math.min(heads, EVERYTHING)),
    ])
    const clock = clockOf(found)
    const rows = new Map<string, KeySnapshot>()
    const again: ReadRequest[] = []
    for (const row of found) {
      const need = needs.find(({ key }) => key === row.key) as ReadRequest
      if (row.row === null) continue
      const seen = seenFrom(row, need, clock)
      const owners = missingOwners(seen, need, clock)
      if (owners.length === 0) rows.set(need.key, seen)
      else again.push({ ...need, owners: [...need.owners, ...owners] })
    }
    if (again.length === 0) return { clock, rows }
    const more = await this.read([], again)
    // The clock of the later read counts, so that no claim that has ended by then is taken for alive.
    return { clock: more.clock, rows: new Map([...rows, ...more.rows]) }
  }

  async page(prefix: string, after: string | null, count: number) {
    const found = await this.client.run(this.text.page(after === null), [after ?? prefix, count])
    const clock = clockOf(found)
    const rows = found.flatMap((row): [string, KeySnapshot][] => {
      if (row.key === null) return []
      const need = { key: row.key as string, ids: [], owners: [], heads: EVERYTHING }
      return [[need.key, seenFrom(row, need, clock)]]
    })
    return { clock, rows }
  }

  claimFree(claims: readonly Claim[], inbox: string | null): Promise<ReadonlyMap<string, QuickAnswer>> {
    const rows = claims.map((claim) => newClaimValues(claim, inbox))
    return this.serve(this.text.claimFree, columns(NEW_CLAIM, rows))
  }

  renewSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>> {
    return this.serve(this.text.renewSole, [
      claims.map(({ key }) => key),
      claims.map(({ id }) => encodeName(id)),
      claims.map(({ ttlMs }) => ttlMs),
      claims.map(({ ttlMs, lockDelayMs }) => ttlMs + lockDelayMs),
    ])
  }

  releaseSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>> {
    return this.serve(this.text.releaseSole, [
      claims.map(({ key }) => key),
      claims.map(({ id }) => encodeName(id)),
    ])
  }

  /**
   * The position is on the disk before it counts. Otherwise a crash could undo both the handoff to this waiter and its position, and the
   * server would not know a holder whose predecessor has expired.
   */
  async join(claim: Claim, inbox: string | null): Promise<Blocked | null> {
    const values = columns(JOINING, [newClaimValues(claim, inbox)]).map(([value]) => value)
    const found = await this.client.run(this.text.join, values)
    const [row] = found
    if (row === undefined) return null
    if (!this.relaxed) await this.client.run(FLUSH, [])
    return positionOfJoined(joinedFrom(row), clockOf(found))
  }

  async renewOwn(claim: Claim): Promise<QuickAnswer | null> {
    const values = columns(OWN, [newClaimValues(claim, null)])
    return (await this.serve(() => this.text.renewOwn, values)).get(claim.key) ?? null
  }

  async releaseOwn({ key, id }: Claim): Promise<QuickAnswer | null> {
    return (await this.serve(() => this.text.releaseOwn, [[key], [encodeName(id)]])).get(key) ?? null
  }

  async renewWaiting(claims: readonly Claim[]): Promise<ClaimStatuses> {
    const values = [
      claims.map(({ key }) => key),
      claims.map(({ id }) => encodeName(id)),
      claims.map(({ ttlMs }) => ttlMs),
    ]
    return statusesOf(await this.client.run(this.text.renewWaiting, values))
  }

  async find(claims: readonly ClaimRef[]): Promise<ClaimStatuses> {
    const values = [claims.map(({ key }) => key), claims.map(({ id }) => encodeName(id))]
    return statusesOf(await this.client.run(this.text.find, values))
  }

  async save(
    changes: readonly RowChange<KeySnapshot, KeyState>[],
    clock: Clock,
    { notifications, whole }: SaveOptions,
  ): Promise<ReadonlySet<string>> {
    const writes = changes.map((change) => writeOf(change, clock))
    const gone = writes.flatMap(({ key, gone: all }) =>
      all.map((one) => ({ key, ...one, id: encodeName(one.id) })),
    )
    const put = writes.flatMap(({ key, put: all }) =>
      all.map((claim) => ({ ...claimValues(claim), key, is_new: claim.isNew })),
    )
    const rows = gone.length > 0 || put.length > 0
    const pushed = notifications.filter(isPushed)
    const values: unknown[] = columns(KEY, writes.map(keyValues))
    if (rows)
      values.push(...columns(GONE, gone), clock.nowMs, ...columns({ ...CLAIM, is_new: 'boolean' }, put))
    if (pushed.length > 0)
      values.push(
        pushed.map(({ key }) => key),
        ...channelsOf(pushed),
      )
    const text = this.text.save(changes.length > 1, rows, pushed.length > 0, whole)
    const saved = new Set((await this.client.run(text, values)).map(({ key }) => key as string))
    await leaveNotifications(
      this.inboxes,
      notifications.filter(({ key }) => saved.has(key)),
    )
    return saved
  }

  async notify(notifications: readonly KeyNotification[]): Promise<void> {
    const pushed = notifications.filter(isPushed)
    if (pushed.length > 0) await this.client.run(this.text.tell, channelsOf(pushed))
    await leaveNotifications(this.inboxes, notifications)
  }

  private async serve(
    text: (many: boolean) => string,
    values: readonly (readonly unknown[])[],
  ): Promise<ReadonlyMap<string, QuickAnswer>> {
    const many = (values[0] as readonly unknown[]).length > 1
    const found = await this.client.run(text(many), many ? values : values.map(([value]) => value))
    return new Map(
      found.map(({ key, seq, contended }) => [
        key as string,
        { seq: Number(seq), contended: contended === true },
      ]),
    )
  }
}

function seenFrom(row: Row, need: ReadRequest, clock: Clock): KeySnapshot {
  const claims = row.claims === null ? [] : (JSON.parse(row.claims as string) as Row[])
  const key = keyRowOf(JSON.parse(row.row as string) as Row)
  const found = claims.map((claim) => claimRowOf(claim))
  return keySnapshotOf(need.key, key, found, need, clock)
}

/** A list of values for each column. */
function columns(of: Columns, rows: readonly ColumnValues[]): unknown[][] {
  return Object.keys(of).map((name) => rows.map((row) => row[name]))
}

function arrayOf(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`
}

function isPushed({ inbox }: KeyNotification): boolean {
  return inbox?.startsWith(POLLED) === false
}

function channelsOf(notifications: readonly KeyNotification[]): [channels: string[], payloads: string[]] {
  return [notifications.map(({ inbox }) => channelOf(inbox as string)), notifications.map(encodeNotification)]
}
