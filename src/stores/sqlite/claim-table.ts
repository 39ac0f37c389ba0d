import { type IndexedClaim, MOST_COUNTED_POSITIONS, type Mode } from '../../model/index.ts'
import type { SqliteStatement, SqlValue } from './binding.ts'
import type { SqliteConnection } from './connection.ts'

type ClaimRow = readonly [
  id: string,
  state: string,
  hold: number,
  ticket: number,
  mode: Mode['kind'],
  permits: number,
  weight: number,
  seq: number,
  owner: string | null,
  actor: string | null,
  label: string,
  meta: string | null,
  ttl: number,
  lockDelay: number,
  inbox: string | null,
  since: number,
  expiresAt: number,
]

const COLUMNS =
  'id, state, hold, ticket, mode, permits, weight, seq, owner, actor, label, meta, ttl, lock_delay, inbox, since, expires_at'
/** One value, because the bindings charge for each value of a row. */
const ROW = `json_array(${COLUMNS}) AS json`

/**
 * The claims that do not lie in the row of their key, a row for each. Every statement uses an index. SQLite plans a statement again
 * when a value is bound that its plan depends on, such as a limit or a state, which costs more than the statement itself. The
 * statements that every step uses have these values in their text.
 */
export class ClaimTable {
  private readonly one: SqliteStatement
  private readonly insert: SqliteStatement
  private readonly change: SqliteStatement
  private readonly erase: SqliteStatement
  private readonly eraseKey: SqliteStatement
  private readonly firstWaiter: SqliteStatement
  private readonly lowestTicket: SqliteStatement
  private readonly waiters: SqliteStatement
  private readonly holders: SqliteStatement
  private readonly withSeq: SqliteStatement
  private readonly owned: SqliteStatement
  private readonly beside: SqliteStatement
  private readonly waiterOf: SqliteStatement
  private readonly ahead: SqliteStatement
  private readonly endedWaiters: SqliteStatement
  private readonly endedHolders: SqliteStatement
  private readonly nextWaiterEnd: SqliteStatement
  private readonly nextHolderEnd: SqliteStatement

  constructor(connection: SqliteConnection) {
    const select = `SELECT ${ROW} FROM holdfast_claims WHERE key = ?1`
    // Without the hint SQLite reads every claim of the key.
    const byOwner = `SELECT ${ROW} FROM holdfast_claims INDEXED BY holdfast_claims_owner WHERE key = ?1 AND owner = ?2`
    this.one = connection.prepare(`${select} AND id = ?2`)
    this.insert = connection.prepare(
      `INSERT INTO holdfast_claims (key, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.change = connection.prepare(
      'UPDATE holdfast_claims SET mode = ?3, expires_at = ?4 WHERE key = ?1 AND id = ?2',
    )
    this.erase = connection.prepare('DELETE FROM holdfast_claims WHERE key = ?1 AND id = ?2')
    this.eraseKey = connection.prepare('DELETE FROM holdfast_claims WHERE key = ?1')
    const waiters = "FROM holdfast_claims WHERE key = ?1 AND state = 'waiting' AND hold = 0"
    this.firstWaiter = connection.prepare(`SELECT ${ROW} ${waiters} ORDER BY ticket LIMIT 1`)
    this.lowestTicket = connection.prepare(`SELECT min(ticket) AS ticket ${waiters}`)
    this.waiters = connection.prepare(`SELECT ${ROW} ${waiters} ORDER BY ticket`)
    this.holders = connection.prepare(`${select} AND state = 'held' ORDER BY hold, ticket LIMIT ?2`)
    this.withSeq = connection.prepare(`${select} AND state = 'held' AND seq = ?2 ORDER BY hold, ticket`)
    this.owned = connection.prepare(`${byOwner} AND state = 'held' LIMIT 1`)
    this.beside = connection.prepare(
      "SELECT 1 FROM holdfast_claims WHERE key = ?1 AND state = 'held' AND hold = ?2 AND id <> ?3 LIMIT 1",
    )
    this.waiterOf = connection.prepare(`
      ${byOwner} AND state = 'waiting' AND (?3 = 'exclusive' OR (mode = ?3 AND weight <= ?4))
      ORDER BY ticket LIMIT 1`)
    this.ahead = connection.prepare(`
      SELECT count(*) AS count, min(expires_at) AS endMs FROM (SELECT expires_at
        ${waiters} AND ticket < ?2 ORDER BY ticket DESC LIMIT ${MOST_COUNTED_POSITIONS})`)
    const ended = (state: string) =>
      connection.prepare(`${select} AND state = '${state}' AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3`)
    this.endedWaiters = ended('waiting')
    this.endedHolders = ended('held')
    const nextEnd = (state: string) =>
      connection.prepare(
        `SELECT min(expires_at) AS at FROM holdfast_claims WHERE key = ?1 AND state = '${state}'`,
      )
    this.nextWaiterEnd = nextEnd('waiting')
    this.nextHolderEnd = nextEnd('held')
  }

  find(key: string, id: string): IndexedClaim | undefined {
    return claimOf(this.one.get(key, id))
  }

  add(key: string, claim: IndexedClaim): void {
    const { id, held, hold, ticket, mode, seq, owner, actor, label, meta, ttlMs, lockDelayMs } = claim
    const { limit, weight } = permitFields(mode)
    const about = [seq, encodeText(owner), encodeText(actor), encodeText(label), meta]
    const times = [ttlMs, lockDelayMs, claim.inbox, claim.sinceMs, claim.expiresAtMs]
    const state = stateName(held)
    this.insert.run(key, id, state, hold, ticket, mode.kind, limit, weight, ...about, ...times)
  }

  /** Writes the parts of a claim that may change: its expiry, and the mode of a writer that becomes a reader. */
  update(key: string, { id, mode, expiresAtMs }: IndexedClaim): void {
    this.change.run(key, id, mode.kind, expiresAtMs)
  }

  remove(key: string, id: string): void {
    this.erase.run(key, id)
  }

  removeAll(key: string): void {
    this.eraseKey.run(key)
  }

  firstWaiting(key: string): IndexedClaim | undefined {
    return claimOf(this.firstWaiter.get(key))
  }

  firstTicket(key: string): number | null {
    return (this.lowestTicket.get(key) as { readonly ticket: number | null }).ticket
  }

  /** Every waiter in queue order, for operators. */
  waiting(key: string): IndexedClaim[] {
    return claimsOf(this.waiters.all(key))
  }

  held(key: string, most: number): IndexedClaim[] {
    return claimsOf(this.holders.all(key, most))
  }

  heldWith(key: string, seq: number): IndexedClaim[] {
    return claimsOf(this.withSeq.all(key, seq))
  }

  heldBy(key: string, owner: string): IndexedClaim | undefined {
    return claimOf(this.owned.get(key, encodeText(owner)))
  }

  hasBeside(key: string, { hold, id }: IndexedClaim): boolean {
    return this.beside.get(key, hold, id) !== undefined
  }

  firstOf(key: string, owner: string, mode: Mode): IndexedClaim | undefined {
    return claimOf(this.waiterOf.get(key, encodeText(owner), mode.kind, permitFields(mode).weight))
  }

  /** The number of waiters before a ticket, up to a bound, and the earliest expiry among them. */
  waitersBefore(key: string, ticket: number): { readonly count: number; readonly endMs: number | null } {
    return this.ahead.get(key, ticket) as { readonly count: number; readonly endMs: number | null }
  }

  expired(key: string, held: boolean, nowMs: number, most: number): IndexedClaim[] {
    const firstMs = this.nextEndMs(key, held)
    if (firstMs === null || firstMs > nowMs) return []
    return claimsOf((held ? this.endedHolders : this.endedWaiters).all(key, nowMs, most))
  }

  nextEndMs(key: string, held: boolean): number | null {
    const found = (held ? this.nextHolderEnd : this.nextWaiterEnd).get(key)
    return (found as { readonly at: number | null }).at
  }
}

const ODD_TEXT = /^"|\0|\p{Surrogate}/u

/** The bindings cut text at U+0000 and replace lone surrogates, so such text is written as JSON; so is text that begins with a quote. */
export function encodeText<T extends string | null>(text: T): T {
  return text !== null && ODD_TEXT.test(text) ? (JSON.stringify(text) as T) : text
}

export function decodeText<T extends string | null>(text: T): T {
  return text?.startsWith('"') === true ? (JSON.parse(text) as T) : text
}

export function permitFields(mode: Mode): { readonly limit: number; readonly weight: number } {
  return mode.kind === 'permits' ? mode : { limit: 0, weight: 1 }
}

export function decodeMode(kind: Mode['kind'], limit: number, weight: number): Mode {
  return kind === 'permits' ? { kind, limit, weight } : { kind }
}

function stateName(held: boolean): SqlValue {
  return held ? 'held' : 'waiting'
}

function claimsOf(rows: readonly unknown[]): IndexedClaim[] {
  return rows.map((row) => claimOf(row) as IndexedClaim)
}

function claimOf(found: unknown): IndexedClaim | undefined {
  if (found === undefined) return undefined
  const [id, state, hold, ticket, mode, permits, weight, seq, owner, actor, label, ...rest] =
    parseRow<ClaimRow>(found)
  const [meta, ttlMs, lockDelayMs, inbox, sinceMs, expiresAtMs] = rest
  return {
    id,
    held: state === 'held',
    hold,
    ticket,
    mode: decodeMode(mode, permits, weight),
    seq,
    owner: decodeText(owner),
    actor: decodeText(actor),
    label: decodeText(label),
    meta,
    ttlMs,
    lockDelayMs,
    inbox,
    sinceMs,
    expiresAtMs,
  }
}

export function parseRow<T>(found: unknown): T {
  return JSON.parse((found as { readonly json: string }).json) as T
}
