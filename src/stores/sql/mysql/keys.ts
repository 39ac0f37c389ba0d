import type { Claim, Clock, KeyState } from '../../../model/index.ts'
import type { TableNames } from '../server/names.ts'
import { neededMs, rowOf, soleState } from '../server/rows.ts'
import type { Change, KeyRow, KeyTable, Look, Sending, Served } from '../server/tables.ts'
import type { MysqlClient, Row, Value } from './clients/client.ts'
import { keyStatements } from './statements.ts'

type KeyChange = Change<KeyRow, KeyState>

export class MysqlKeys implements KeyTable {
  private readonly client: MysqlClient
  private readonly names: TableNames
  private mariadb = false
  private text: ReturnType<typeof keyStatements>

  constructor(client: MysqlClient, names: TableNames) {
    this.client = client
    this.names = names
    this.text = keyStatements(names, false)
  }

  /** MariaDB can give back what a statement wrote, and run several in one go; elsewhere each claim has its own statement. */
  adapt(mariadb: boolean): void {
    this.mariadb = mariadb
    this.text = keyStatements(this.names, mariadb)
  }

  async look(keys: readonly string[]): Promise<Look<KeyRow>> {
    return lookOf((await this.client.run(this.text.look(keys.length), keys.map(bytes))).rows)
  }

  async page(prefix: string, after: string | null, count: number) {
    const from = bytes(after ?? prefix)
    const { clock, rows } = lookOf(
      (await this.client.run(this.text.page(after === null), [from, count])).rows,
    )
    return { clock, rows: [...rows] }
  }

  async claimFree(claims: readonly Claim[], inbox: string | null): Promise<Served> {
    if (claims.length > 1 && !this.mariadb)
      return merged(claims.map((claim) => this.claimFree([claim], inbox)))
    const states = claims.map((claim) => soleState(claim, inbox))
    const ordered = claims.map((claim, place) => [claim, states[place] as (typeof states)[0]] as const)
    ordered.sort(([{ key }], [other]) => Buffer.compare(bytes(key), bytes(other.key)))
    const values = ordered.flatMap(([claim, { head, tail }]): Value[] => {
      return [bytes(claim.key), bytes(claim.id), claim.ttlMs, bytes(head), bytes(tail), neededMs(claim)]
    })
    const { rows, insertId } = await this.client.run(
      this.text.claimFree(claims.length),
      values,
      claims.length === 1,
    )
    if (claims.length === 1) return { done: served(claims, [insertId]), look: null }
    const look = lookOf(rows)
    const written = claims.map(({ key }, place) => {
      const [row, { head, tail }] = [look.rows.get(key), states[place] as (typeof states)[0]]
      return row?.state === `${head}${look.clock.nowMs}${tail}` ? row.seq : 0
    })
    return { done: served(claims, written), look }
  }

  async renewSole(claims: readonly Claim[]): Promise<Served> {
    return this.onSole(claims, this.text.renewSole, ({ ttlMs, lockDelayMs }) => {
      const needed = ttlMs + lockDelayMs
      return [ttlMs, needed, needed]
    })
  }

  async releaseSole(claims: readonly Claim[]): Promise<Served> {
    return this.onSole(claims, this.text.releaseSole, () => [])
  }

  async save(
    changes: readonly KeyChange[],
    { nowMs }: Clock,
    { whole }: Sending,
  ): Promise<ReadonlySet<string>> {
    if (whole) return this.saveWhole(changes, nowMs)
    const saved = await Promise.all(changes.map((change) => this.saveOne(change, nowMs)))
    return new Set(changes.filter((_, place) => saved[place]).map(({ key }) => key))
  }

  /** There is no way to tell another process: it looks. */
  async tell(): Promise<void> {}

  private async saveOne({ key, before, state }: KeyChange, nowMs: number): Promise<boolean> {
    const values = valuesOf(rowOf(state, before, nowMs))
    const sent =
      before === undefined
        ? this.client.run(this.text.insert, [bytes(key), ...values])
        : this.client.run(this.text.update, [...values, bytes(key), before.revision])
    return (await sent).affected > 0
  }

  private async saveWhole(changes: readonly KeyChange[], nowMs: number): Promise<ReadonlySet<string>> {
    const ordered = [...changes].sort((a, b) => Buffer.compare(bytes(a.key), bytes(b.key)))
    const values = ordered.flatMap(({ key, before, state }) => {
      return [bytes(key), ...valuesOf(rowOf(state, before, nowMs))]
    })
    const known = ordered.flatMap(({ key, before }): Value[] =>
      before === undefined ? [] : [bytes(key), before.revision],
    )
    await this.client.run(this.text.whole(ordered.length, known.length / 2), [...values, ...known])
    return new Set(changes.map(({ key }) => key))
  }

  private async onSole(
    claims: readonly Claim[],
    text: ReturnType<typeof keyStatements>['renewSole'],
    changeOf: (claim: Claim) => Value[],
  ): Promise<Served> {
    if (claims.length > 1 && !this.mariadb)
      return merged(claims.map((claim) => this.onSole([claim], text, changeOf)))
    const ordered = [...claims].sort((a, b) => Buffer.compare(bytes(a.key), bytes(b.key)))
    const holds = ordered.map(({ key, id }) => [bytes(key), bytes(id)] as const)
    const changes = ordered.map(changeOf)
    if (ordered.length === 1) {
      const values = [...(changes[0] as Value[]), ...(holds[0] as readonly Value[])]
      return { done: served(ordered, [(await this.client.run(text.one, values, true)).affected]), look: null }
    }
    // Mostly all stand alone and want the same; else every one of them gets a statement.
    if (new Set(changes.map(String)).size === 1) {
      const values = [...(changes[0] as Value[]), ...holds.map(([key]) => key), ...holds.flat()]
      const { rows } = await this.client.run(text.all(ordered.length), values)
      if (Number(rows[0]?.done) === ordered.length)
        return { done: served(ordered, Array(ordered.length).fill(1)), look: null }
    }
    const values = changes.flatMap((change, place) => [...change, ...(holds[place] as readonly Value[])])
    const { rows } = await this.client.run(text.each(ordered.length), values)
    const counts = ordered.map((_, place) => Number(rows[0]?.[`done_${place}`]))
    return { done: served(ordered, counts), look: null }
  }
}

/** By key, what a statement said of each claim, unless it was nothing. */
function served(claims: readonly Claim[], said: readonly number[]): Map<string, number> {
  const done = new Map<string, number>()
  for (const [place, { key }] of claims.entries()) if (said[place]) done.set(key, said[place])
  return done
}

async function merged(parts: readonly Promise<Served>[]): Promise<Served> {
  const all = await Promise.all(parts)
  return { done: new Map(all.flatMap(({ done }) => [...done])), look: null }
}

function valuesOf({ seq, holder, expiresAtMs, state, forgetAtMs }: Omit<KeyRow, 'revision'>): Value[] {
  return [seq, orNull(holder), expiresAtMs, orNull(state), forgetAtMs]
}

function lookOf(found: readonly Row[]): Look<KeyRow> {
  const rows = new Map<string, KeyRow>()
  for (const { key, revision, seq, holder, expires_at, state, forget_at } of found) {
    if (revision === null) continue
    rows.set(text(key) as string, {
      revision: Number(revision),
      seq: Number(seq),
      holder: text(holder),
      expiresAtMs: Number(expires_at),
      state: text(state),
      forgetAtMs: Number(forget_at),
    })
  }
  return { clock: clockOf(found), rows }
}

export function clockOf(found: readonly Row[]): Clock {
  const stampUs = Number(found[0]?.us)
  return { nowMs: Math.floor(stampUs / 1000), stampUs }
}

export function bytes(value: string): Buffer {
  return Buffer.from(value)
}

export function orNull(value: string | null): Buffer | null {
  return value === null ? null : bytes(value)
}

export function text(value: unknown): string | null {
  return value === null ? null : Buffer.isBuffer(value) ? value.toString() : String(value)
}
