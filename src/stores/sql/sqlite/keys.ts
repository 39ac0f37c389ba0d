import {
  type Claim,
  type Clock,
  EMPTY,
  fits,
  forgetAtMs,
  type Granted,
  type KeyState,
  type Member,
  type ReleaseAnswer,
  SPARE_TOKENS,
  tokenOf,
} from '../../../model/index.ts'
import { decodeState, encodeState } from '../format.ts'
import type { Statement } from './binding.ts'
import type { BootClock } from './boot.ts'
import type { Connection } from './connection.ts'
import { FORGET_SLACK_MS, RULES } from './rules.ts'

const RELEASED: ReleaseAnswer = { kind: 'released' }

/** A key as it is written. */
export interface Row {
  readonly key: string
  readonly boot: string
  readonly at: number
  readonly seq: number
  readonly state: string | null
  readonly forget_at: number
}

/** The rows of the keys. Statements that leave `boot` and `forget_at` alone do not touch the index, which is half the cost. */
export class KeyTable {
  private readonly clock: BootClock
  private readonly select: Statement
  private readonly selectFirst: Statement
  private readonly selectNext: Statement
  private readonly update: Statement
  private readonly swap: Statement
  private readonly upsert: Statement
  private readonly claimFree: Statement
  private readonly releaseSole: Statement

  constructor(connection: Connection, clock: BootClock) {
    this.clock = clock
    const columns = 'key, boot, at, seq, state, forget_at'
    this.select = connection.prepare(`SELECT ${columns} FROM holdfast_keys WHERE key = ?`)
    const page = `SELECT ${columns} FROM holdfast_keys WHERE`
    this.selectFirst = connection.prepare(`${page} key >= ? ORDER BY key LIMIT ?`)
    this.selectNext = connection.prepare(`${page} key > ? ORDER BY key LIMIT ?`)
    this.update = connection.prepare(`
      UPDATE holdfast_keys SET at = ?, seq = ?, holder = ?, expires_at = ?, state = ?
      WHERE key = ? AND boot = ? AND forget_at >= ?`)
    this.swap = connection.prepare(`
      UPDATE holdfast_keys SET at = ?, seq = ?, holder = ?, expires_at = ?, state = ?
      WHERE key = ? AND boot = ? AND forget_at >= ? AND seq = ? AND state IS ?`)
    const insert = `
      INSERT INTO holdfast_keys (key, boot, at, seq, holder, expires_at, state, forget_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET
        at = excluded.at, seq = excluded.seq, holder = excluded.holder, expires_at = excluded.expires_at, state = excluded.state`
    this.upsert = connection.prepare(`${insert}, boot = excluded.boot, forget_at = excluded.forget_at`)
    this.claimFree = connection.prepare(`
      ${insert} WHERE state IS NULL AND seq < excluded.seq AND boot = excluded.boot AND forget_at >= ?`)
    this.releaseSole = connection.prepare(`
      UPDATE holdfast_keys SET at = ?, holder = NULL, expires_at = 0, state = NULL
      WHERE key = ? AND holder = ? AND boot = ? AND expires_at > ?`)
  }

  load(key: string, nowMs: number): KeyState {
    const row = this.find(key)
    return row === undefined ? EMPTY : this.stateOf(row, nowMs)
  }

  find(key: string): Row | undefined {
    return this.select.get(key) as Row | undefined
  }

  /** Writes a state that was made from `row`; false when the row is another one by now, or needs more than that. */
  trySwap(row: Row, state: KeyState, nowMs: number): boolean {
    const sole = soleMember(state, nowMs)
    const swapped = this.swap.run(
      nowMs,
      state.seq,
      sole?.id ?? null,
      sole?.expiresAtMs ?? 0,
      encodeState(state, nowMs),
      row.key,
      this.clock.bootId,
      forgetAtMs(state),
      row.seq,
      row.state,
    )
    return swapped.changes !== 0
  }

  save(key: string, state: KeyState, nowMs: number): void {
    const { bootId } = this.clock
    const sole = soleMember(state, nowMs)
    const id = sole?.id ?? null
    const expiresAtMs = sole?.expiresAtMs ?? 0
    const text = encodeState(state, nowMs)
    const neededMs = forgetAtMs(state)
    const updated = this.update.run(nowMs, state.seq, id, expiresAtMs, text, key, bootId, neededMs)
    if (updated.changes !== 0) return
    this.upsert.run(key, bootId, nowMs, state.seq, id, expiresAtMs, text, neededMs + FORGET_SLACK_MS)
  }

  /** In order of the keys: those that follow on `after`, or the first ones from `prefix` on. */
  page(
    prefix: string,
    after: string | null,
    count: number,
    nowMs: number,
  ): { key: string; state: KeyState }[] {
    const rows = after === null ? this.selectFirst.all(prefix, count) : this.selectNext.all(after, count)
    return (rows as Row[]).map((row) => ({ key: row.key, state: this.stateOf(row, nowMs) }))
  }

  /**
   * The model's answer to a claim on a key that is free, in one statement. Null when the key is not free, or the row needs
   * more than that, and the model has to look at it.
   */
  tryClaim(claim: Claim, inbox: string | null, clock: Clock): Granted | null {
    if (claim.group !== null || claim.replaces !== null || !fits(claim.mode, [])) return null
    const { key, id, owner, mode, ttlMs, label, actor, meta, lockDelayMs } = claim
    const { nowMs, stampUs: seq } = clock
    const expiresAtMs = nowMs + ttlMs
    const member: Member = { id, expiresAtMs, sinceMs: nowMs, label, actor, meta, lockDelayMs, inbox }
    const text = encodeState({ ...EMPTY, holds: [{ owner, mode, seq, members: [member] }], seq }, nowMs)
    const neededMs = nowMs + Math.max(RULES.keepSeqMs, ttlMs + lockDelayMs)
    const forgetMs = neededMs + FORGET_SLACK_MS
    const { bootId } = this.clock
    const claimed = this.claimFree.run(key, bootId, nowMs, seq, id, expiresAtMs, text, forgetMs, neededMs)
    if (claimed.changes === 0) return null
    return {
      kind: 'granted',
      token: tokenOf(seq),
      spare: owner === null ? SPARE_TOKENS : 0,
      contended: false,
    }
  }

  /** The model's answer to the release of a hold that stands alone, in one statement; null when it has to look. */
  tryRelease(key: string, id: string, nowMs: number): ReleaseAnswer | null {
    return this.releaseSole.run(nowMs, key, id, this.clock.bootId, nowMs).changes === 0 ? null : RELEASED
  }

  /** Whoever held or waited under another boot is dead; only the sequence number lives on. */
  stateOf({ key, boot, at, seq, state, forget_at }: Row, nowMs: number): KeyState {
    return this.clock.isForeign(boot, at, nowMs)
      ? decodeState(key, null, { seq, seqKeptUntilMs: nowMs + RULES.keepSeqMs })
      : decodeState(key, state, { seq, seqKeptUntilMs: forget_at })
  }
}

/** The only claim of a key that has no more to say than that it is held by it. */
function soleMember({ holds, line, closedUntilMs }: KeyState, nowMs: number): Member | undefined {
  if (holds.length !== 1 || line.length > 0 || closedUntilMs > nowMs) return undefined
  const members = holds[0]?.members ?? []
  return members.length === 1 ? members[0] : undefined
}
