import type { UnsupportedError } from '../../errors.ts'
import {
  type Claim,
  type Clock,
  EMPTY,
  emptySummary,
  fits,
  type Granted,
  type IndexedClaim,
  type KeyState,
  type Mode,
  type ReleaseAnswer,
  type RenewAnswer,
  SPARE_TOKENS,
  stateOf,
  tokenOf,
} from '../../model/index.ts'
import { FORGET_SLACK_MS, SQL_RULES } from '../shared/sql.ts'

import type { SqliteStatement, SqlValue } from './binding.ts'
import type { BootClock } from './boot.ts'
import { ClaimTable, decodeMode, decodeText, encodeText, parseRow, permitFields } from './claim-table.ts'
import type { SqliteConnection } from './connection.ts'
import { pidNamespace } from './inbox.ts'
import { SqliteKeyIndex, type SqliteKeyRow } from './key-index.ts'

import { FORMAT, newerFormat } from './schema.ts'

const RELEASED: ReleaseAnswer = { kind: 'released' }
const RENEWED: RenewAnswer = { kind: 'renewed', contended: false }

type Row = readonly [
  key: string,
  format: number,
  boot: string,
  forgetAt: number,
  at: number,
  seq: number,
  closedUntil: number,
  mode: Mode['kind'] | null,
  permits: number,
  used: number,
  holders: number,
  waiters: number,
  lastTicket: number,
  holder: string | null,
  owner: string | null,
  actor: string | null,
  label: string,
  meta: string | null,
  lockDelay: number,
  inbox: string | null,
  since: number,
  expiresAt: number,
]

interface FoundKey extends SqliteKeyRow {
  readonly key: string
  readonly boot: string
  readonly at: number
}

/** A key in a newer format: only its name is known, and it must not affect other keys of a call. */
interface NewerKey {
  readonly key: string
  readonly error: UnsupportedError
}

const SOLE = 'holder, owner, actor, label, meta, lock_delay, inbox, since, expires_at'
/** A statement that writes only these columns leaves the index of clean-up alone, which is half the cost. */
const SUMMARY = 'at, seq, closed_until, mode, permits, used, holders, waiters, last_ticket'
const WRITTEN = `${SUMMARY}, ${SOLE}`
const FIXED = `key, format, boot, forget_at`
const ALL = Number.MAX_SAFE_INTEGER

/** The rows of the keys, and their claims. */
export class SqliteKeys {
  readonly claims: ClaimTable
  private readonly clock: BootClock
  private readonly namespace = pidNamespace()
  private readonly select: SqliteStatement
  private readonly selectFirst: SqliteStatement
  private readonly selectNext: SqliteStatement
  private readonly update: SqliteStatement
  private readonly updateSummary: SqliteStatement
  private readonly upsert: SqliteStatement
  private readonly claimFree: SqliteStatement
  private readonly renewSole: SqliteStatement
  private readonly releaseSole: SqliteStatement

  constructor(connection: SqliteConnection, clock: BootClock) {
    this.clock = clock
    this.claims = new ClaimTable(connection)
    const select = `SELECT json_array(${FIXED}, ${WRITTEN}) AS json FROM holdfast_locks`
    this.select = connection.prepare(`${select} WHERE key = ?`)
    const page = `${select} INDEXED BY holdfast_locks_used WHERE holders + waiters > 0 AND`
    this.selectFirst = connection.prepare(`${page} key >= ? ORDER BY key LIMIT ?`)
    this.selectNext = connection.prepare(`${page} key > ? ORDER BY key LIMIT ?`)
    const names = WRITTEN.split(', ')
    const insert = `
      INSERT INTO holdfast_locks (${FIXED}, ${WRITTEN}) VALUES (?, ${FORMAT}, ?, ?${', ?'.repeat(names.length)})
      ON CONFLICT (key) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`
    const update = (columns: readonly string[]) =>
      connection.prepare(`
        UPDATE holdfast_locks SET ${columns.map((name) => `${name} = ?`).join(', ')}
        WHERE key = ? AND boot = ? AND forget_at >= ?`)
    this.update = update(names)
    this.updateSummary = update(SUMMARY.split(', '))
    this.upsert = connection.prepare(`${insert}, boot = excluded.boot, forget_at = excluded.forget_at`)
    this.claimFree = connection.prepare(`
      ${insert} WHERE holders = 0 AND waiters = 0 AND closed_until <= excluded.at AND seq < excluded.seq
        AND boot = excluded.boot AND forget_at >= ? AND format = ${FORMAT}`)
    const sole = `WHERE key = ?1 AND holder = ?2 AND boot = ?3 AND expires_at > ?4 AND waiters = 0 AND format = ${FORMAT}`
    this.renewSole = connection.prepare(`
      UPDATE holdfast_locks SET at = ?4, expires_at = max(expires_at, ?5) ${sole} AND forget_at >= ?5 + lock_delay`)
    this.releaseSole = connection.prepare(`
      UPDATE holdfast_locks SET at = ?4, mode = NULL, used = 0, holders = 0, holder = NULL, owner = NULL, actor = NULL,
        label = NULL, meta = NULL, inbox = NULL, expires_at = 0 ${sole}`)
  }

  /** Opens a key for the steps of one transaction, which ends with `save`. Returns an error for a key in a newer format. */
  open(key: string, nowMs: number): SqliteKeyIndex | UnsupportedError {
    const row = this.look(key)
    if (row !== undefined && 'error' in row) return row.error
    // The claims of an earlier boot are removed together, once.
    if (row !== undefined && this.isDead(row, nowMs) && row.summary.holders + row.summary.waiters > 0)
      this.claims.removeAll(key)
    return new SqliteKeyIndex(
      key,
      row === undefined ? null : this.living(row, nowMs),
      this.claims,
      this.namespace,
    )
  }

  /** Without a boot id the time of the last write reveals a restart, so it is written even if nothing else changed. */
  save(index: SqliteKeyIndex, nowMs: number): void {
    const { key, summary, sole } = index
    const { bootId } = this.clock
    if (!index.isChanged && (index.neededMs === 0 || (bootId !== '' && index.neededMs <= index.keptUntilMs)))
      return
    const neededMs = Math.max(index.neededMs, summary.seqKeptUntilMs, summary.closedUntilMs)
    const fields = summaryFields(nowMs, summary)
    const written = index.isSoleChanged
      ? this.update.run(...fields, ...soleFields(sole), key, bootId, neededMs)
      : this.updateSummary.run(...fields, key, bootId, neededMs)
    if (written.changes === 0)
      this.upsert.run(key, bootId, neededMs + FORGET_SLACK_MS, ...fields, ...soleFields(sole))
  }

  /** Reads every claim of a key, for operators. */
  load(key: string, nowMs: number): KeyState {
    const row = this.find(key)
    return row === undefined ? EMPTY : this.stateOf(row, nowMs)
  }

  isHeld(key: string, id: string, nowMs: number): boolean {
    const row = this.find(key)
    if (row === undefined || this.isDead(row, nowMs)) return false
    const claim = row.sole?.id === id ? row.sole : this.claims.find(key, id)
    return claim?.held === true && claim.expiresAtMs > nowMs
  }

  /** Keys in use, in order: those after `after`, or from `prefix` on. The state is null for a newer format. */
  page(
    prefix: string,
    after: string | null,
    count: number,
    nowMs: number,
  ): { key: string; state: KeyState | null }[] {
    const rows = after === null ? this.selectFirst.all(prefix, count) : this.selectNext.all(after, count)
    return rows.map(foundKey).map((found) => ({
      key: found.key,
      state: 'error' in found ? null : this.stateOf(found, nowMs),
    }))
  }

  /**
   * The model's answer to a claim on a free key, in one statement. Null when the key is not free or its row needs more than that:
   * then the model decides.
   */
  tryClaim(claim: Claim, inbox: string | null, clock: Clock): Granted | null {
    if (claim.group !== null || claim.replaces !== null || !fits(claim.mode, [])) return null
    const { key, mode, owner, ttlMs, lockDelayMs } = claim
    const { nowMs, stampUs: seq } = clock
    const { limit, weight } = permitFields(mode)
    const neededMs = nowMs + Math.max(SQL_RULES.keepSeqMs, ttlMs + lockDelayMs)
    const { bootId } = this.clock
    const claimed = this.claimFree.run(
      ...[key, bootId, neededMs + FORGET_SLACK_MS, nowMs, seq, 0, mode.kind, limit],
      ...[mode.kind === 'permits' ? weight : 0, 1, 0, 0],
      ...[claim.id, encodeText(owner), encodeText(claim.actor), encodeText(claim.label), claim.meta],
      ...[lockDelayMs, inbox, nowMs, nowMs + ttlMs, neededMs],
    )
    if (claimed.changes === 0) return null
    const spare = owner === null ? SPARE_TOKENS : 0
    return { kind: 'granted', token: tokenOf(seq), spare, contended: false }
  }

  /** The model's answer to the renewal of a sole hold, in one statement; null when the model must decide. */
  tryRenew(key: string, id: string, ttlMs: number, nowMs: number): RenewAnswer | null {
    const renewed = this.renewSole.run(key, id, this.clock.bootId, nowMs, nowMs + ttlMs)
    return renewed.changes === 0 ? null : RENEWED
  }

  tryRelease(key: string, id: string, nowMs: number): ReleaseAnswer | null {
    return this.releaseSole.run(key, id, this.clock.bootId, nowMs).changes === 0 ? null : RELEASED
  }

  private find(key: string): FoundKey | undefined {
    const found = this.look(key)
    if (found !== undefined && 'error' in found) throw found.error
    return found
  }

  private look(key: string): FoundKey | NewerKey | undefined {
    const found = this.select.get(key)
    return found === undefined ? undefined : foundKey(found)
  }

  private isDead({ boot, at }: FoundKey, nowMs: number): boolean {
    return this.clock.isForeign(boot, at, nowMs)
  }

  /** A restart of the machine ends all claims and leaves only the last sequence number. */
  private living(found: FoundKey, nowMs: number): SqliteKeyRow {
    if (!this.isDead(found, nowMs)) return found
    return {
      summary: emptySummary(found.summary.seq, nowMs + SQL_RULES.keepSeqMs),
      sole: null,
      isStale: true,
    }
  }

  private stateOf(found: FoundKey, nowMs: number): KeyState {
    const { key } = found
    const { summary, sole } = this.living(found, nowMs)
    const holders = sole === null && summary.holders > 0 ? this.claims.held(key, ALL) : []
    const waiters = summary.waiters > 0 ? this.claims.waiting(key) : []
    return stateOf(key, summary, sole === null ? holders : [sole], waiters)
  }
}

function foundKey(found: unknown): FoundKey | NewerKey {
  const [key, format, boot, seqKeptUntilMs, at, seq, closedUntilMs, mode, limit, used, ...rest] =
    parseRow<Row>(found)
  const [holders, waiters, lastTicket, holder, ...about] = rest
  if (format > FORMAT) return { key, error: newerFormat(format, 'a key') }
  const summary = { seq, seqKeptUntilMs, closedUntilMs, mode, limit, used, holders, waiters, lastTicket }
  if (holder === null || mode === null) return { key, boot, at, summary, sole: null, isStale: false }
  const [owner, actor, label, meta, lockDelayMs, inbox, sinceMs, expiresAtMs] = about
  const sole: IndexedClaim = {
    id: holder,
    held: true,
    hold: 0,
    ticket: 0,
    mode: decodeMode(mode, limit, used),
    seq,
    owner: decodeText(owner),
    actor: decodeText(actor),
    label: decodeText(label),
    meta,
    ttlMs: 0,
    lockDelayMs,
    inbox,
    sinceMs,
    expiresAtMs,
  }
  return { key, boot, at, summary, sole, isStale: false }
}

function summaryFields(nowMs: number, summary: SqliteKeyRow['summary']): readonly SqlValue[] {
  const { seq, closedUntilMs, mode, limit, used, holders, waiters, lastTicket } = summary
  return [nowMs, seq, closedUntilMs, mode, limit, used, holders, waiters, lastTicket]
}

function soleFields(sole: IndexedClaim | null): readonly SqlValue[] {
  if (sole === null) return [null, null, null, null, null, 0, null, 0, 0]
  const { id, owner, actor, label, meta, lockDelayMs, inbox, sinceMs, expiresAtMs } = sole
  const about = [id, encodeText(owner), encodeText(actor), encodeText(label), meta]
  return [...about, lockDelayMs, inbox, sinceMs, expiresAtMs]
}
