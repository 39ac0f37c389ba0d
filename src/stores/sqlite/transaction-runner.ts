import type { Runtime } from '../../core/runtime.ts'
import type { Soon } from '../../core/store.ts'
import type { Clock } from '../../model/index.ts'
import type { BootClock } from './boot.ts'
import { SqliteCleaner } from './cleaner.ts'
import type { SqliteConnection } from './connection.ts'
import { LogKeeper } from './log-keeper.ts'
import { WorkQueue } from './work-queue.ts'

/** Runs all work of a store on the database: one piece at a time, on the store's clock, with clean-up in proportion. */
export class TransactionRunner {
  private readonly connection: SqliteConnection
  readonly clock: BootClock
  private readonly turns: WorkQueue
  private readonly cleaner: SqliteCleaner
  private readonly log: LogKeeper

  constructor(connection: SqliteConnection, clock: BootClock, runtime: Runtime) {
    this.connection = connection
    this.clock = clock
    this.turns = new WorkQueue(runtime, connection.file)
    this.cleaner = new SqliteCleaner(connection, clock)
    this.log = new LogKeeper(connection)
  }

  /** Runs `work` on so many keys in its turn. Each of its statements is a transaction of its own unless it opens one. */
  run<T>(work: (clock: Clock) => T, keys = 1): Soon<T> {
    return this.turns.run(() => {
      const result = work(this.clock.read())
      this.cleaner.count(keys)
      this.log.count()
      return result
    })
  }

  now(): Clock {
    return this.clock.read()
  }

  /** Runs `work` on so many keys in its turn, as one transaction. */
  transact<T>(work: (clock: Clock) => T, keys = 1): Soon<T> {
    return this.run(() => this.transaction(work), keys)
  }

  /** Runs one transaction inside a turn. The clock is read when no other process can write any more. */
  transaction<T>(work: (clock: Clock) => T): T {
    return this.connection.transaction(() => work(this.clock.read()))
  }

  /** Runs `work`, which only reads, in its turn, on a snapshot. */
  look<T>(work: (clock: Clock) => T): Soon<T> {
    return this.run((clock) => this.connection.snapshot(() => work(clock)))
  }

  /** Runs a part of a transaction, and undoes it if `work` returns false. */
  attempt(work: () => boolean): boolean {
    return this.connection.attempt(work)
  }

  close(): void {
    this.turns.close()
    this.connection.close()
  }
}
