import {
  emptySummary,
  type IndexedClaim,
  type KeyIndex,
  type KeySummary,
  type Mode,
} from '../../model/index.ts'
import type { ClaimTable } from './claim-table.ts'
import { isGone } from './dead-processes.ts'

/** The row of a key, as a step reads it. */
export interface SqliteKeyRow {
  readonly summary: KeySummary
  /** The only holder, whose claim lies in the row of the key. */
  readonly sole: IndexedClaim | null
  /** True if the row is older than a restart of the machine, so that all of it must be written. */
  readonly isStale: boolean
}

/** The claims of one key during one transaction. No other process writes meanwhile, so what was read stays true. */
export class SqliteKeyIndex implements KeyIndex {
  readonly key: string
  readonly summary: KeySummary
  sole: IndexedClaim | null
  /** The row must be kept until then because of the claims that were added. */
  neededMs = 0
  private readonly before: SqliteKeyRow | null
  private readonly table: ClaimTable
  private readonly namespace: string
  private rows: number
  private first: IndexedClaim | null | undefined
  private swept = false

  /** `row` is null for a key without a row. */
  constructor(key: string, row: SqliteKeyRow | null, table: ClaimTable, namespace: string) {
    this.key = key
    this.table = table
    this.namespace = namespace
    this.before = row
    this.summary = row === null ? emptySummary() : { ...row.summary }
    this.sole = row?.sole ?? null
    this.rows = this.summary.waiters + (this.sole === null ? this.summary.holders : 0)
  }

  get isChanged(): boolean {
    const { before, summary } = this
    if (before === null) return summary.seq > 0 || summary.holders + summary.waiters > 0
    if (this.isSoleChanged) return true
    return (Object.keys(summary) as (keyof KeySummary)[]).some(
      (name) => summary[name] !== before.summary[name],
    )
  }

  /** True if the claim in the row of the key is another one, or has changed. */
  get isSoleChanged(): boolean {
    return this.before?.isStale !== false || this.before.sole !== this.sole
  }

  /** The row is kept until then even if it is not written again. */
  get keptUntilMs(): number {
    return this.before?.summary.seqKeptUntilMs ?? 0
  }

  find(id: string): IndexedClaim | undefined {
    if (this.sole?.id === id) return this.sole
    return this.rows === 0 ? undefined : this.table.find(this.key, id)
  }

  add(claim: IndexedClaim): void {
    this.keepFor(claim)
    if (claim.held && this.summary.holders === 0) {
      this.sole = claim
      return
    }
    if (claim.held && this.sole !== null) {
      this.insert(this.sole)
      this.sole = null
    }
    this.insert(claim)
    if (!claim.held && this.first === null) this.first = claim
  }

  replace(claim: IndexedClaim, next: IndexedClaim): void {
    this.keepFor(next)
    if (this.sole?.id === claim.id) this.sole = next
    else if (claim.id === next.id) this.table.update(this.key, next)
    else {
      this.table.remove(this.key, claim.id)
      this.table.add(this.key, next)
    }
    if (this.first?.id === claim.id) this.first = next
  }

  remove(claim: IndexedClaim): void {
    if (this.sole?.id === claim.id) {
      this.sole = null
      return
    }
    this.table.remove(this.key, claim.id)
    this.rows--
    if (this.first?.id === claim.id) this.first = undefined
  }

  holders(most: number): readonly IndexedClaim[] {
    if (this.summary.holders === 0) return []
    return this.sole !== null ? [this.sole] : this.table.held(this.key, most)
  }

  holdersWith(seq: number): readonly IndexedClaim[] {
    if (this.sole === null) return this.rows === 0 ? [] : this.table.heldWith(this.key, seq)
    return this.sole.seq === seq ? [this.sole] : []
  }

  ownHold(owner: string): IndexedClaim | undefined {
    if (this.sole === null) return this.summary.holders === 0 ? undefined : this.table.heldBy(this.key, owner)
    return this.sole.owner === owner ? this.sole : undefined
  }

  isShared(claim: IndexedClaim): boolean {
    return this.sole === null && this.table.hasBeside(this.key, claim)
  }

  head(): IndexedClaim | undefined {
    if (this.summary.waiters === 0) return undefined
    if (this.first === undefined) this.first = this.table.firstWaiting(this.key) ?? null
    return this.first ?? undefined
  }

  firstOf(owner: string, mode: Mode): IndexedClaim | undefined {
    return this.table.firstOf(this.key, owner, mode)
  }

  firstTicket(): number | null {
    return this.first?.ticket ?? this.table.firstTicket(this.key)
  }

  waitersBefore(claim: IndexedClaim): { readonly count: number; readonly endMs: number | null } {
    if (this.summary.waiters === 1 || this.first?.id === claim.id) return { count: 0, endMs: null }
    return this.table.waitersBefore(this.key, claim.ticket)
  }

  /** The clock stands still during a transaction, so only its first step can find expired claims. */
  expired(nowMs: number, most: number): readonly IndexedClaim[] {
    if (this.swept) return []
    this.swept = true
    const { sole, summary, table, key } = this
    const over: IndexedClaim[] = sole !== null && sole.expiresAtMs <= nowMs ? [sole] : []
    if (summary.waiters > 0) over.push(...table.expired(key, false, nowMs, most))
    if (summary.holders > 0 && sole === null) over.push(...table.expired(key, true, nowMs, most))
    return over
  }

  nextEndMs(held: boolean): number | null {
    if (held && this.sole !== null) return this.sole.expiresAtMs
    const count = held ? this.summary.holders : this.summary.waiters
    return count === 0 ? null : this.table.nextEndMs(this.key, held)
  }

  isGone({ inbox }: IndexedClaim): boolean {
    return inbox !== null && isGone(inbox, this.namespace)
  }

  private insert(claim: IndexedClaim): void {
    this.table.add(this.key, claim)
    this.rows++
  }

  private keepFor({ expiresAtMs, lockDelayMs }: IndexedClaim): void {
    this.neededMs = Math.max(this.neededMs, expiresAtMs + lockDelayMs)
  }
}
