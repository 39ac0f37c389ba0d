import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type {
  Blocked,
  Claim,
  Clock,
  KeyNotification,
  KeyState,
  Mode,
  RecordState,
} from '../../../model/index.ts'

/** A statement keeps its rows locked until it is done, so it is bounded. */
export const KEYS_PER_STATEMENT = 200

/** How many waiters one statement renews or polls. */
export const CLAIMS_PER_POLL = 200

/** One step of clean-up removes at most so many rows from each table. */
export const ROWS_PER_CLEANING = 100

/** A row that another transaction keeps locked for longer than this counts as held. */
export const LOCK_WAIT_MS = 500

/** One step of clean-up reads at most so many keys with claims that are no longer renewed. */
export const KEYS_PER_CLEANING = 10

/** A claim in a row of its own. */
export interface ClaimRow {
  readonly id: string
  readonly state: 'held' | 'waiting'
  /** The order of the queue; 0 for a holder. */
  readonly ticket: number
  readonly mode: Mode
  /** The sequence number of its hold; 0 for a waiter. */
  readonly seq: number
  readonly owner: string | null
  readonly actor: string | null
  readonly label: string
  readonly meta: string | null
  readonly sinceMs: number
  readonly expiresAtMs: number
  readonly ttlMs: number
  readonly lockDelayMs: number
  readonly inbox: string | null
}

/** A row of the keys. `revision` changes with every step that another step may depend on. */
export interface KeyRow {
  readonly revision: number
  readonly seq: number
  readonly mode: Mode | null
  readonly holds: number
  readonly used: number
  readonly waiting: number
  /** How many claims have rows of their own. */
  readonly others: number
  readonly closedUntilMs: number
  /** The claim that found the key free lies in its row. */
  readonly holder: ClaimRow | null
  readonly forgetAtMs: number
}

/** The claims of one key that the next steps depend on. */
export interface ReadRequest {
  readonly key: string
  readonly ids: readonly string[]
  readonly owners: readonly string[]
  /** How many waiters from the head of the queue on; infinity means all claims. */
  readonly heads: number
}

/** A key as it was read: its row, some of its claims, and their state for the model. */
export interface KeySnapshot {
  readonly row: KeyRow
  readonly claims: ReadonlyMap<string, ClaimRow>
  readonly state: KeyState
  /** The ids of the waiters at the head of the queue, without a gap. */
  readonly heads: ReadonlySet<string>
}

export interface RecordRow {
  readonly revision: number
  readonly version: number
  /** JSON; null for a removed record, whose version is kept. */
  readonly value: string | null
  readonly expiresAtMs: number | null
}

/** The result of one read, with the database's clock at that time. Keys without a row are missing. */
export interface TableSnapshot<R> {
  readonly clock: Clock
  readonly rows: ReadonlyMap<string, R>
}

/** The next state of a key, if its row has not changed since it was read. */
export interface RowChange<R, S> {
  readonly key: string
  readonly before: R | undefined
  readonly state: S
}

export interface SaveOptions {
  /** Sent in the same transaction for the keys that were changed; each has an inbox. */
  readonly notifications: readonly KeyNotification[]
  /** True if all changes are made, or none. */
  readonly whole: boolean
}

/** A table for compare-and-swap. */
export interface VersionedTable<R, S> {
  read(keys: readonly string[], needs?: readonly ReadRequest[]): Promise<TableSnapshot<R>>
  /** True if more of the key has to be read before the change can be trusted. */
  needsMore?(change: RowChange<R, S>): boolean
  /** Writes in one statement. Resolves to the keys whose rows were changed. */
  save(changes: readonly RowChange<R, S>[], clock: Clock, sending: SaveOptions): Promise<ReadonlySet<string>>
  /** Sends notifications that belong to no change. */
  notify(notifications: readonly KeyNotification[]): Promise<void>
}

/** The answer of a statement that serves claims without the model; claims that it leaves out need the model. */
export interface QuickAnswer {
  /** The sequence number of the hold; 0 where it is not needed. */
  readonly seq: number
  readonly contended: boolean
}

/** The state of a claim, as far as a waiter needs it. */
export type ClaimStatus =
  | { readonly kind: 'waiting'; readonly ticket: number; readonly expiresAtMs: number }
  | {
      readonly kind: 'held'
      readonly seq: number
      readonly owner: string | null
      readonly sinceMs: number
      readonly expiresAtMs: number
    }

/** The states of claims, and the first few tickets of the queue of each key, from which positions are counted. */
export interface ClaimStatuses {
  readonly clock: Clock
  /** By `claimName`. */
  readonly statuses: ReadonlyMap<string, ClaimStatus>
  readonly heads: ReadonlyMap<string, readonly number[]>
}

/** The name of a claim among the claims of several keys. */
export function nameOfClaim(key: string, id: string): string {
  return `${id} ${key}`
}

export type ClaimRef = Pick<Claim, 'key' | 'id'>

/** The keys. Each call is one statement and one transaction; a key occurs once in a call, unless stated otherwise. */
export interface KeyTable extends VersionedTable<KeySnapshot, KeyState> {
  /** Grants free keys. */
  claimFree(claims: readonly Claim[], inbox: string | null): Promise<ReadonlyMap<string, QuickAnswer>>
  /** Renews holds in the rows of their keys where the renewal admits no waiter. */
  renewSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>>
  /** Ends holds in the rows of their keys that admit no waiter, or that one statement can hand off to the first waiter. */
  releaseSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>>
  /** The same for one claim in a row of its own; null where it would admit waiters, or the claim has no such row. */
  renewOwn(claim: Claim): Promise<QuickAnswer | null>
  releaseOwn(claim: Claim): Promise<QuickAnswer | null>
  /** Joins a queue behind an exclusive hold or another waiter; null if there is neither, or if the claim is known already. */
  join(claim: Claim, inbox: string | null): Promise<Blocked | null>
  /** Renews queue positions and returns the states of the claims. Here a key may occur often. */
  renewWaiting(claims: readonly Claim[]): Promise<ClaimStatuses>
  /** Returns the states of claims. Here a key may occur often. */
  find(claims: readonly ClaimRef[]): Promise<ClaimStatuses>
  /** Keys in use with all their claims, in the order of their names: those after `after`, or from `prefix` on. */
  page(
    prefix: string,
    after: string | null,
    count: number,
  ): Promise<{ clock: Clock; rows: readonly (readonly [string, KeySnapshot])[] }>
}

/** A record, and the highest version that its key ever had, even if the record is gone. */
export interface VersionedRecord {
  readonly record: RecordState | null
  readonly version: number
}

export interface RecordTable extends VersionedTable<RecordRow, VersionedRecord> {
  /** The same for one record, only while the claim of `proof` holds its key. */
  saveHeld(change: RowChange<RecordRow, VersionedRecord>, clock: Clock, proof: ClaimRef): Promise<boolean>
}

/** Both reject with a `ConflictError` when the transaction has to be rolled back. */
export interface TransactionClaim {
  /** Resolves to the sequence number, or null when the row has changed or another transaction has it. */
  take(key: string, row: KeyRow): Promise<number | null>
  /** Waits in the database for the holder of the row, with a bound, so that the database finds deadlocks of transactions. */
  wait(key: string, insideMs: number): Promise<void>
}

/** The operations that a store needs of a database. */
export interface ServerDatabase {
  readonly keys: KeyTable
  readonly records: RecordTable
  /** Creates the tables if they are missing, and refuses those of another format. Resolves to whether it created them. */
  prepare(): Promise<boolean>
  /** Claims rows inside a transaction of the caller. Throws for anything that is no transaction. */
  claimIn(tx: object): TransactionClaim
  /** Removes a few rows that are no longer needed, through an index. Resolves to how many. */
  clean(): Promise<number>
  /** A few keys that are due for removal but have claims; it returns them again in an hour. */
  stale(): Promise<readonly string[]>
  /** Upgrades tables of format 1; refused while they are in use. Resolves to whether there were any. */
  upgrade(): Promise<boolean>
  /** The number of rows in each table that should have been removed that long ago. */
  overdue(forMs: number): Promise<readonly { readonly table: string; readonly count: number }[]>
  /** Facts about the server for operators, and the locks that other programs have in it. */
  inspect(foreign: readonly string[], runtime: Runtime): AsyncIterable<Fact>
  /** Ends a lock of another program, if it is still the reported one and has been idle for that long. */
  endForeign(lock: Remains, olderMs: number): Promise<boolean>
  /** The reason of a statement that certainly did nothing; null for any other error. */
  reasonOf(error: unknown): FailureReason | null
}

/**
 * The reason why a statement certainly did nothing. `conflict`: others changed the same rows. `locked`: another transaction keeps
 * a row locked. `missing`: there is no such table.
 */
export type FailureReason = 'conflict' | 'locked' | 'missing'
