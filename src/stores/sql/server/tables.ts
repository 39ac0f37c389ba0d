import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { Claim, Clock, KeyLetter, KeyState, RecordState } from '../../../model/index.ts'

/** A row of the keys. `revision` changes with every write, so that a change can be made to depend on what was read. */
export interface KeyRow {
  readonly revision: number
  readonly seq: number
  /** The only claim of a key that has no more to say than that it is held by it, else null. */
  readonly holder: string | null
  /** When that claim's hold ends; what the state says of it is older. */
  readonly expiresAtMs: number
  readonly state: string | null
  readonly forgetAtMs: number
}

export interface RecordRow {
  readonly revision: number
  readonly version: number
  /** As JSON; null for a record that was removed, whose version is remembered. */
  readonly value: string | null
  readonly expiresAtMs: number | null
}

/** What was read in one statement, and the database's clock then. Keys without a row are missing. */
export interface Look<R> {
  readonly clock: Clock
  readonly rows: ReadonlyMap<string, R>
}

/** What a key becomes, if its row is still the one that was read. */
export interface Change<R, S> {
  readonly key: string
  readonly before: R | undefined
  readonly state: S
}

export interface Sending {
  /** What is told in the same transaction, of the keys that were changed; every letter has an inbox. */
  readonly letters: readonly KeyLetter[]
  /** Whether all changes are made, or none. */
  readonly whole: boolean
}

/** One table whose rows are compared and swapped. */
export interface Ledger<R, S> {
  look(keys: readonly string[]): Promise<Look<R>>
  /** In one statement. Resolves to the keys whose rows were changed. */
  save(changes: readonly Change<R, S>[], clock: Clock, sending: Sending): Promise<ReadonlySet<string>>
  /** Tells what did not come with a change. */
  tell(letters: readonly KeyLetter[]): Promise<void>
}

/** What became of claims that one statement could serve by itself, and what it found of the others. */
export interface Served {
  /** By key: the sequence number of the hold. */
  readonly done: ReadonlyMap<string, number>
  readonly look: Look<KeyRow> | null
}

/** The keys. Each call is one statement that is a transaction of its own; keys are never named twice in one. */
export interface KeyTable extends Ledger<KeyRow, KeyState> {
  /** Grants what is free. */
  claimFree(claims: readonly Claim[], inbox: string | null): Promise<Served>
  /** Renews holds that stand alone. */
  renewSole(claims: readonly Claim[]): Promise<Served>
  /** Ends holds that stand alone, or that a statement can give to the next in the line by itself. */
  releaseSole(claims: readonly Claim[]): Promise<Served>
  /**
   * Takes a place in the line of a key that is held; `look` shows the row with it. Left out where no statement can do that by
   * itself.
   */
  joinLine?(claim: Claim, inbox: string | null): Promise<Served>
  /** Rows in use, in the order of their keys: those after `after`, or the first ones from `prefix` on. */
  page(
    prefix: string,
    after: string | null,
    count: number,
  ): Promise<{ clock: Clock; rows: readonly (readonly [string, KeyRow])[] }>
}

/** A record, and the highest version that its key ever had, also when the record is gone. */
export interface Found {
  readonly record: RecordState | null
  readonly version: number
}

/** A claim that must hold its key when a record is changed: as it was read, and until when that is so. */
export interface Proof {
  readonly key: string
  readonly revision: number
  readonly untilMs: number
}

export interface RecordTable extends Ledger<RecordRow, Found> {
  /** The same for one record, only while the row of the claim's key is the one that was read. */
  saveHeld(change: Change<RecordRow, Found>, clock: Clock, proof: Proof): Promise<boolean>
}

/** Both reject with a `ConflictError` when the transaction has to be rolled back. */
export interface JointClaim {
  /** The sequence number, or null when the row is not as it was read, or somebody has it. */
  take(key: string, row: KeyRow): Promise<number | null>
  /** Waits in the database for whoever has the row, for so long at most, so that a circle of transactions is found. */
  wait(key: string, insideMs: number): Promise<void>
}

/** A database as the store uses it. */
export interface Database {
  readonly keys: KeyTable
  readonly records: RecordTable
  /** Makes the tables if they are missing, and refuses those of a newer format. */
  prepare(): Promise<void>
  /** Ways to take a row inside a transaction of the caller's. Throws for anything that is no transaction. */
  claimIn(tx: object): JointClaim
  /** Removes a few rows that need not be remembered any more, by an index. Resolves to how many. */
  clean(): Promise<number>
  /** How many rows should have been removed that long ago, by table. */
  overdue(forMs: number): Promise<readonly { readonly table: string; readonly count: number }[]>
  /** What an operator should know about the server, and which locks other programs have in it. */
  inspect(foreign: readonly string[], runtime: Runtime): AsyncIterable<Fact>
  /** Ends a lock of another program, if it is still as it was told of and has not been used for that long. */
  endForeign(lock: Remains, olderMs: number): Promise<boolean>
  /** What an error of the client means; null when it says nothing about what was done. */
  reasonOf(error: unknown): Setback | null
}

/**
 * Why a statement certainly did nothing. `conflict`: others were at the same rows. `locked`: somebody's transaction keeps
 * a row locked. `missing`: there is no such table.
 */
export type Setback = 'conflict' | 'locked' | 'missing'
