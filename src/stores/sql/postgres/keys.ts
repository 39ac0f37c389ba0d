import type { Claim, Clock, KeyLetter, KeyState } from '../../../model/index.ts'
import { encodeLetter } from '../letters.ts'
import type { TableNames } from '../server/names.ts'
import { neededMs, rowOf, soleState, waiterText } from '../server/rows.ts'
import type { Change, KeyRow, KeyTable, Look, Sending, Served } from '../server/tables.ts'
import type { PostgresClient, Row } from './clients/client.ts'
import { channelOf } from './push.ts'
import { FLUSH, keyStatements } from './statements.ts'

export class PostgresKeys implements KeyTable {
  private readonly client: PostgresClient
  private readonly relaxed: boolean
  private readonly text: ReturnType<typeof keyStatements>

  constructor(client: PostgresClient, names: TableNames, relaxed: boolean) {
    this.client = client
    this.relaxed = relaxed
    this.text = keyStatements(names, relaxed)
  }

  async look(keys: readonly string[]): Promise<Look<KeyRow>> {
    const many = keys.length > 1
    return lookOf(await this.client.run(this.text.look(many), [many ? keys : keys[0]]))
  }

  async page(prefix: string, after: string | null, count: number) {
    const found = await this.client.run(this.text.page(after === null), [after ?? prefix, count])
    const { clock, rows } = lookOf(found)
    return { clock, rows: [...rows] }
  }

  async claimFree(claims: readonly Claim[], inbox: string | null): Promise<Served> {
    const states = claims.map((claim) => soleState(claim, inbox))
    return this.serve(claims, this.text.claimFree, [
      claims.map(({ key }) => key),
      claims.map(({ id }) => id),
      claims.map(({ ttlMs }) => ttlMs),
      states.map(({ head }) => head),
      states.map(({ tail }) => tail),
      claims.map(neededMs),
    ])
  }

  async renewSole(claims: readonly Claim[]): Promise<Served> {
    return this.serve(claims, this.text.renewSole, [
      claims.map(({ key }) => key),
      claims.map(({ id }) => id),
      claims.map(({ ttlMs }) => ttlMs),
      claims.map(({ ttlMs, lockDelayMs }) => ttlMs + lockDelayMs),
    ])
  }

  async releaseSole(claims: readonly Claim[]): Promise<Served> {
    const { releaseOne, releaseSole } = this.text
    return this.serve(claims, (many) => (many ? releaseSole : releaseOne), [
      claims.map(({ key }) => key),
      claims.map(({ id }) => id),
    ])
  }

  /**
   * The place is on the disk before it counts. Whoever is given the key without it (by a hand-on that a crash took back, while the old
   * holder came back and ran out) would hold what the server does not know of.
   */
  async joinLine(claim: Claim, inbox: string | null): Promise<Served> {
    const { key, id, ttlMs } = claim
    const found = await this.client.run(this.text.joinLine, [key, id, ttlMs, waiterText(claim, inbox)])
    const joined = found[0]?.done != null
    if (joined && !this.relaxed) await this.client.run(FLUSH, [])
    return { done: new Map(joined ? [[key, Number(found[0]?.done)]] : []), look: lookOf(found) }
  }

  async save(
    changes: readonly Change<KeyRow, KeyState>[],
    { nowMs }: Clock,
    { letters, whole }: Sending,
  ): Promise<ReadonlySet<string>> {
    const rows = changes.map(({ state, before }) => rowOf(state, before, nowMs))
    const values: unknown[] = [
      changes.map(({ key }) => key),
      changes.map(({ before }) => before?.revision ?? null),
      rows.map(({ seq }) => seq),
      rows.map(({ holder }) => holder),
      rows.map(({ expiresAtMs }) => expiresAtMs),
      rows.map(({ state }) => state),
      rows.map(({ forgetAtMs }) => forgetAtMs),
    ]
    if (letters.length > 0)
      values.push(
        letters.map(({ key }) => key),
        ...sent(letters),
      )
    const text = this.text.save(changes.length > 1, letters.length > 0, whole)
    return new Set((await this.client.run(text, values)).map(({ key }) => key as string))
  }

  async tell(letters: readonly KeyLetter[]): Promise<void> {
    await this.client.run(this.text.tell, sent(letters))
  }

  private async serve(
    claims: readonly Claim[],
    text: (many: boolean) => string,
    columns: readonly (readonly unknown[])[],
  ): Promise<Served> {
    if (claims.length === 1) return this.serveOne((claims[0] as Claim).key, text(false), columns)
    const found = await this.client.run(text(true), columns)
    const done = new Map<string, number>()
    const others: Row[] = []
    for (const row of found) {
      if (row.done === null) others.push(row)
      else done.set(row.key as string, Number(row.done))
    }
    return { done, look: others.length === 0 ? null : lookOf(others) }
  }

  private async serveOne(
    key: string,
    text: string,
    columns: readonly (readonly unknown[])[],
  ): Promise<Served> {
    const values = columns.map(([value]) => value)
    const [row] = await this.client.run(text, values)
    if (row === undefined) return NOTHING
    const said = row.said as string
    if (said.startsWith('{')) return { done: NOTHING.done, look: lookOf([JSON.parse(said) as Row]) }
    return { done: new Map([[key, Number(said)]]), look: null }
  }
}

const NOTHING: Served = { done: new Map(), look: null }

function sent(letters: readonly KeyLetter[]): [channels: string[], payloads: string[]] {
  return [letters.map(({ inbox }) => channelOf(inbox as string)), letters.map(encodeLetter)]
}

function lookOf(found: readonly Row[]): Look<KeyRow> {
  const rows = new Map<string, KeyRow>()
  for (const { key, revision, seq, holder, expires_at, state, forget_at } of found) {
    if (revision === null) continue
    rows.set(key as string, {
      revision: Number(revision),
      seq: Number(seq),
      holder: holder as string | null,
      expiresAtMs: Number(expires_at),
      state: state as string | null,
      forgetAtMs: Number(forget_at),
    })
  }
  return { clock: clockOf(found), rows }
}

export function clockOf(found: readonly Row[]): Clock {
  const stampUs = Number(found[0]?.us)
  return { nowMs: Math.floor(stampUs / 1000), stampUs }
}
