import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { Blocked, Claim, Clock, KeyLetter, KeyState, Mode, RecordState } from '../../../model/index.ts'

/** A claim that stands in a row of its own, and what no state says of it. */
export interface ClaimRow {
  readonly id: string
  readonly state: 'held' | 'waiting'
  /** Its place in the order of the queue; 0 for a holder. */
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
  /** The claim that found the key free stands in its row. */
  readonly holder: ClaimRow | null
  readonly forgetAtMs: number
}

/** What the steps to come are about, of one key. */
export interface ReadRequest {
  readonly key: string
  readonly ids: readonly string[]
  readonly owners: readonly string[]
  /** How many waiters from the head of the queue on; all claims without a bound. */
  readonly heads: number
}

/** A key as it was read: its row, some of its claims, and the state that they make. */
export interface KeySnapshot {
  readonly row: KeyRow
  readonly claims: ReadonlyMap<string, ClaimRow>
  readonly state: KeyState
  /** The ids of those at the head of the queue; nobody who lives stands between them. */
  readonly heads: ReadonlySet<string>
}

export interface RecordRow {
  readonly revision: number
  readonly version: number
  /** As JSON; null for a record that was removed, whose version is remembered. */
  readonly value: string | null
  readonly expiresAtMs: number | null
}

/** What was read in one statement, and the database's clock then. Keys without a row are missing. */
export interface TableSnapshot<R> {
  readonly clock: Clock
  readonly rows: ReadonlyMap<string, R>
}

/** What a key becomes, if its row is still the one that was read. */
export interface RowChange<R, S> {
  readonly key: string
  readonly before: R | undefined
  readonly state: S
}

export interface SaveOptions {
  /** What is told in the same transaction, of the keys that were changed; every letter has an inbox. */
  readonly notifications: readonly KeyLetter[]
  /** Whether all changes are made, or none. */
  readonly whole: boolean
}

/** One table whose rows are compared and swapped. */
export interface VersionedTable<R, S> {
  read(keys: readonly string[], needs?: readonly ReadRequest[]): Promise<TableSnapshot<R>>
  /** Whether more of a key has to be read before what was made of it can be trusted. */
  needsMore?(change: RowChange<R, S>): boolean
  /** In one statement. Resolves to the keys whose rows were changed. */
  save(changes: readonly RowChange<R, S>[], clock: Clock, sending: SaveOptions): Promise<ReadonlySet<string>>
  /** Tells what did not come with a change. */
  notify(letters: readonly KeyLetter[]): Promise<void>
}

/** What one statement could do for claims by itself, by their keys; those left out need the model. */
export interface QuickAnswer {
  /** Of the hold; 0 where nobody asks. */
  readonly seq: number
  readonly contended: boolean
}

/** Where a claim is, as far as a waiter has to know. */
export type ClaimStatus =
  | { readonly kind: 'waiting'; readonly ticket: number; readonly expiresAtMs: number }
  | {
      readonly kind: 'held'
      readonly seq: number
      readonly owner: string | null
      readonly sinceMs: number
      readonly expiresAtMs: number
    }

/** Waiters, and the first few tickets of the queue of each of their keys, from which positions are counted. */
export interface ClaimStatuses {
  readonly clock: Clock
  /** By `key` and `id`, see `placeName`. */
  readonly statuses: ReadonlyMap<string, ClaimStatus>
  readonly heads: ReadonlyMap<string, readonly number[]>
}

/** The name of a claim among those of several keys. */
export function claimName(key: string, id: string): string {
  return `${id} ${key}`
}

export type ClaimRef = Pick<Claim, 'key' | 'id'>

/** The keys. Each call is one statement that is a transaction of its own; keys are never named twice in one. */
export interface KeyTable extends VersionedTable<KeySnapshot, KeyState> {
  /** Grants what is free. */
  claimFree(claims: readonly Claim[], inbox: string | null): Promise<ReadonlyMap<string, QuickAnswer>>
  /** Renews claims that stand in the rows of their keys, where nobody comes in beside them. */
  renewSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>>
  /** Ends holds in the rows of their keys that let nobody in, or that a statement can give to the next of the queue. */
  releaseSole(claims: readonly Claim[]): Promise<ReadonlyMap<string, QuickAnswer>>
  /** The same for one claim in a row of its own; null where it has to let others in, or is not such a claim. */
  renewOwn(claim: Claim): Promise<QuickAnswer | null>
  releaseOwn(claim: Claim): Promise<QuickAnswer | null>
  /** Joins a queue behind an exclusive hold or behind another waiter; null if there is neither, or the claim is there already. */
  join(claim: Claim, inbox: string | null): Promise<Blocked | null>
  /** Renews claims that wait. Here a key may be named often. Says where they are. */
  renewWaiting(claims: readonly Claim[]): Promise<ClaimStatuses>
  /** Says where claims are. Here a key may be named often. */
  find(claims: readonly ClaimRef[]): Promise<ClaimStatuses>
  /** Keys in use with all their claims, in the order of their names: those after `after`, or the first ones from `prefix` on. */
  page(
    prefix: string,
    after: string | null,
    count: number,
  ): Promise<{ clock: Clock; rows: readonly (readonly [string, KeySnapshot])[] }>
}

/** A record, and the highest version that its key ever had, also when the record is gone. */
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
  /** The sequence number, or null when the row is not as it was read, or somebody has it. */
  take(key: string, row: KeyRow): Promise<number | null>
  /** Waits in the database for whoever has the row, for so long at most, so that a circle of transactions is found. */
  wait(key: string, insideMs: number): Promise<void>
}

/** A database as the store uses it. */
export interface ServerDatabase {
  readonly keys: KeyTable
  readonly records: RecordTable
  /** Makes the tables if they are missing, and refuses those of a newer format. Resolves to whether it made them. */
  prepare(): Promise<boolean>
  /** Ways to take a row inside a transaction of the caller's. Throws for anything that is no transaction. */
  claimIn(tx: object): TransactionClaim
  /** Removes a few rows that need not be remembered any more, by an index. Resolves to how many. */
  clean(): Promise<number>
  /** A few keys that would be removed if there were no claims; they are told of again in an hour. */
  stale(): Promise<readonly string[]>
  /** Changes tables of format 1 to those of this version; refused while they are in use. Resolves to whether there were any. */
  upgrade(): Promise<boolean>
  /** How many rows should have been removed that long ago, by table. */
  overdue(forMs: number): Promise<readonly { readonly table: string; readonly count: number }[]>
  /** What an operator should know about the server, and which locks other programs have in it. */
  inspect(foreign: readonly string[], runtime: Runtime): AsyncIterable<Fact>
  /** Ends a lock of another program, if it is still as it was told of and has not been used for that long. */
  endForeign(lock: Remains, olderMs: number): Promise<boolean>
  /** What an error of the client means; null when it says nothing about what was done. */
  reasonOf(error: unknown): FailureReason | null
}

/**
 * Why a statement certainly did nothing. `conflict`: others were at the same rows. `locked`: somebody's transaction keeps
 * a row locked. `missing`: there is no such table.
 */
export type FailureReason = 'conflict' | 'locked' | 'missing'
