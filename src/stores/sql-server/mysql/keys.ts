import type { Blocked, Claim, Clock, KeyNotification, KeyState } from '../../../model/index.ts'
import { NEW_CLAIM, newClaimValues } from '../tables/columns.ts'
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
  type KeyWrite,
  keySnapshotOf,
  missingOwners,
  needsMoreHeads,
  writeOf,
} from '../tables/key-snapshot.ts'
import type { TableNames } from '../tables/names.ts'
import { claimRowOf, clockOf, encodeName, keyRowOf, type Row, statusesOf, text } from '../tables/rows.ts'
import type { MysqlClient, Value } from './clients/client.ts'
import { bytes } from './clients/client.ts'
import { CLAIMED, excerptValues, type KeyTexts, keyStatements, stepsOf, valuesOf } from './key-statements.ts'
import { QueueSteps } from './queue-statements.ts'
import { inboxTable } from './records.ts'
import { atomically } from './statements.ts'

type KeyChange = RowChange<KeySnapshot, KeyState>

/** One statement reads the claims of at most so many keys. */
const KEYS_PER_EXCERPT = 20

export class MysqlKeys implements KeyTable {
  private readonly client: MysqlClient
  private readonly names: TableNames
  private readonly inboxes: InboxTable
  private mariadb = false
  private text: KeyTexts
  /** Only where the server has compound statements. */
  private queue: QueueSteps | null = null

  constructor(client: MysqlClient, names: TableNames) {
    this.client = client
    this.names = names
    this.inboxes = inboxTable(names, client)
    this.text = keyStatements(names, false)
  }

  readonly needsMore = needsMoreHeads

  /** MariaDB has RETURNING and compound statements; elsewhere each claim has a statement of its own. */
  adapt(mariadb: boolean): void {
    this.mariadb = mariadb
    this.text = keyStatements(this.names, mariadb)
    this.queue = mariadb ? new QueueSteps(this.client, this.names) : null
  }

  /** Reads the rows of the keys first: most keys have no other claims. */
  async read(
    keys: readonly string[],
    needs: readonly ReadRequest[] = keys.map((key) => ({ key, ids: [], owners: [], heads: HEADS })),
  ): Promise<TableSnapshot<KeySnapshot>> {
    const found = (
      await this.client.run(
        this.text.rows(needs.length),
        needs.map(({ key }) => bytes(key)),
      )
    ).rows
    let clock = clockOf(found)
    const rows = new Map<string, KeySnapshot>()
    let open: ReadRequest[] = []
    const waits = new Set<string>()
    for (const row of found) {
      if (row.revision === null) continue
      const need = needs.find(({ key }) => key === text(row.key)) as ReadRequest
      if (Number(row.waiting) > 0) waits.add(need.key)
      if (Number(row.others) > 0) open.push(need)
      else rows.set(need.key, keySnapshotOf(need.key, keyRowOf(row), [], need, clock))
    }
    while (open.length > 0) {
      const again: ReadRequest[] = []
      for (let first = 0; first < open.length; first += KEYS_PER_EXCERPT) {
        const part = open.slice(first, first + KEYS_PER_EXCERPT)
        const read = await this.excerpts(part, waits)
        if (read.clock !== null) clock = read.clock
        for (const [need, seen] of read.seen) {
          const owners = missingOwners(seen, need, clock)
          if (owners.length === 0) rows.set(need.key, seen)
          else again.push({ ...need, owners: [...need.owners, ...owners] })
        }
      }
      open = again
    }
    return { clock, rows }
  }

  async page(prefix: string, after: string | null, count: number) {
    const { rows: names } = await this.client.run(this.text.page(after === null), [
      bytes(after ?? prefix),
      count,
    ])
    const keys = names.map(({ key }) => text(key) as string)
    if (keys.length === 0) return { clock: { nowMs: 0, stampUs: 0 }, rows: [] }
    const needs = keys.map((key) => ({ key, ids: [], owners: [], heads: Number.POSITIVE_INFINITY }))
    const { clock, rows } = await this.read(keys, needs)
    // A key that was removed meanwhile is free, and still counts for the next page.
    return {
      clock,
      rows: keys.map(
        (key) =>
          [key, rows.get(key) ?? keySnapshotOf(key, null, [], needs[0] as ReadRequest, clock)] as const,
      ),
    }
  }

  async claimFree(claims: readonly Claim[], inbox: string | null): Promise<ReadonlyMap<string, QuickAnswer>> {
    if (claims.length > 1 && !this.mariadb)
      return merged(claims.map((claim) => this.claimFree([claim], inbox)))
    const ordered = inOrder(claims)
    if (ordered.length === 1) {
      const claim = ordered[0] as Claim
      const { insertId } = await this.client.run(
        this.text.claimFree(1),
        valuesOf(newClaimValues(claim, inbox), CLAIMED),
        true,
      )
      return new Map(insertId === 0 ? [] : [[claim.key, { seq: insertId, contended: false }]])
    }
    const values = ordered.flatMap((claim) => valuesOf(newClaimValues(claim, inbox), Object.keys(NEW_CLAIM)))
    const { rows } = await this.client.run(this.text.claimFree(ordered.length), values)
    const { nowMs } = clockOf(rows)
    const ids = new Map(claims.map(({ key, id }) => [key, encodeName(id)]))
    const done = rows.filter(
      ({ key, holder, since }) => ids.get(text(key) as string) === text(holder) && Number(since) === nowMs,
    )
    return new Map(
      done.map(({ key, hold_seq }) => [text(key) as string, { seq: Number(hold_seq), contended: false }]),
    )
  }

  renewSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>> {
    return this.onSole(claims, this.text.renewSole, ({ ttlMs, lockDelayMs }) => {
      const needed = ttlMs + lockDelayMs
      return [ttlMs, needed, needed]
    })
  }

  releaseSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>> {
    return this.onSole(claims, this.text.releaseSole, () => [])
  }

  async renewOwn(claim: Claim): Promise<QuickAnswer | null> {
    return this.queue?.renewOwn(claim) ?? null
  }

  async releaseOwn(claim: Claim): Promise<QuickAnswer | null> {
    return this.queue?.releaseOwn(claim) ?? null
  }

  async join(claim: Claim, inbox: string | null): Promise<Blocked | null> {
    return this.queue?.join(claim, inbox) ?? null
  }

  async renewWaiting(claims: readonly Claim[]): Promise<ClaimStatuses> {
    const same = new Map<string, Claim[]>()
    for (const claim of claims) {
      const name = `${claim.ttlMs} ${claim.key}`
      same.set(name, [...(same.get(name) ?? []), claim])
    }
    for (const group of same.values()) {
      const { key, ttlMs } = group[0] as Claim
      const ids = group.map(({ id }) => bytes(encodeName(id)))
      await this.client.run(this.text.renewWaiting(ids.length), [ttlMs, bytes(key), ...ids])
    }
    return this.find(claims)
  }

  async find(claims: readonly ClaimRef[]): Promise<ClaimStatuses> {
    const keys = new Map<string, Buffer[]>()
    for (const { key, id } of claims) keys.set(key, [...(keys.get(key) ?? []), bytes(encodeName(id))])
    const values = [...keys].flatMap(([name, ids]) => {
      const key = bytes(name)
      return [key, ...ids, key, ...ids, key]
    })
    const counts = [...keys.values()].map((ids) => ids.length)
    return statusesOf((await this.client.run(this.text.find(counts), values)).rows)
  }

  async save(
    changes: readonly KeyChange[],
    clock: Clock,
    { whole, notifications }: SaveOptions,
  ): Promise<ReadonlySet<string>> {
    const saved = whole ? await this.saveWhole(changes, clock) : await this.saveEach(changes, clock)
    await this.notify(notifications.filter(({ key }) => saved.has(key)))
    return saved
  }

  /** Waiters poll their positions; holders poll their inbox. */
  notify(notifications: readonly KeyNotification[]): Promise<void> {
    return leaveNotifications(this.inboxes, notifications)
  }

  private async excerpts(needs: readonly ReadRequest[], waits: ReadonlySet<string>) {
    const values = needs.flatMap(({ key, ids, owners, heads }) =>
      excerptValues({
        key: bytes(key),
        ids: ids.map((id) => bytes(encodeName(id))),
        owners: owners.map((owner) => bytes(encodeName(owner))),
        heads,
      }),
    )
    const { rows } = await this.client.run(this.text.excerpts(needs, waits), values)
    const byKey = new Map<string, Row[]>()
    for (const row of rows) {
      const key = text(row.key) as string
      byKey.set(key, [...(byKey.get(key) ?? []), row])
    }
    const clock = rows.length === 0 ? null : clockOf(rows)
    const seen = needs.flatMap((need): [ReadRequest, KeySnapshot][] => {
      const found = byKey.get(need.key)
      if (found === undefined || clock === null) return []
      const claims = found.filter(({ c_id }) => c_id !== null).map((row) => claimRowOf(row, 'c_'))
      return [[need, keySnapshotOf(need.key, keyRowOf(found[0] as Row), claims, need, clock)]]
    })
    return { clock, seen }
  }

  private async saveEach(changes: readonly KeyChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const saved = await Promise.all(changes.map((change) => this.write([writeOf(change, clock)], clock)))
    return new Set(changes.filter((_, place) => saved[place]).map(({ key }) => key))
  }

  private async saveWhole(changes: readonly KeyChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const writes = changes.map((change) => writeOf(change, clock))
    writes.sort((one, other) => Buffer.compare(bytes(one.key), bytes(other.key)))
    return new Set((await this.write(writes, clock)) ? changes.map(({ key }) => key) : [])
  }

  private async write(writes: readonly KeyWrite[], clock: Clock): Promise<boolean> {
    const steps = writes.flatMap((write) => stepsOf(this.text, write, clock))
    return (await atomically(this.client, this.mariadb, steps)) !== null
  }

  private async onSole(
    claims: readonly Claim[],
    text: KeyTexts['renewSole'],
    changeOf: (claim: Claim) => Value[],
  ): Promise<ReadonlyMap<string, QuickAnswer>> {
    if (claims.length > 1 && !this.mariadb)
      return merged(claims.map((claim) => this.onSole([claim], text, changeOf)))
    const ordered = inOrder(claims)
    const holds = ordered.map(({ key, id }) => [bytes(key), bytes(encodeName(id))] as const)
    const changes = ordered.map(changeOf)
    if (ordered.length === 1) {
      const values = [...(changes[0] as Value[]), ...(holds[0] as readonly Value[])]
      const { affected, insertId } = await this.client.run(text.one, values, true)
      return served(ordered, [affected > 0 ? Math.max(1, insertId) : 0])
    }
    // Usually all are sole holders with the same ttl; otherwise each gets a statement.
    if (new Set(changes.map(String)).size === 1) {
      const values = [...(changes[0] as Value[]), ...holds.map(([key]) => key), ...holds.flat()]
      const { rows } = await this.client.run(text.all(ordered.length), values)
      if (Number(rows[0]?.done) === ordered.length) return served(ordered, Array(ordered.length).fill(1))
    }
    const values = changes.flatMap((change, place) => [...change, ...(holds[place] as readonly Value[])])
    const { rows } = await this.client.run(text.each(ordered.length), values)
    return served(
      ordered,
      ordered.map((_, place) => Number(rows[0]?.[`done_${place}`])),
    )
  }
}

/** `said` is 1 for a claim that was served, 2 for one that others wait for, else 0. */
function served(claims: readonly Claim[], said: readonly number[]): ReadonlyMap<string, QuickAnswer> {
  const done = new Map<string, QuickAnswer>()
  for (const [place, { key }] of claims.entries())
    if (said[place]) done.set(key, { seq: 0, contended: said[place] === 2 })
  return done
}

async function merged(
  parts: readonly Promise<ReadonlyMap<string, QuickAnswer>>[],
): Promise<ReadonlyMap<string, QuickAnswer>> {
  return new Map((await Promise.all(parts)).flatMap((done) => [...done]))
}

/** Rows are locked in the order of their keys, so that there are no deadlocks. */
function inOrder(claims: readonly Claim[]): readonly Claim[] {
  if (claims.length === 1) return claims
  return [...claims].sort((one, other) => Buffer.compare(bytes(one.key), bytes(other.key)))
}
