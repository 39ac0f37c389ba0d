import type { Runtime, Timer } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import { orConflict } from '../server-errors.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import type { LockOperation, SeenHolder, SessionConnection, SessionServer } from './session-server.ts'

/** The number of heartbeats in the time after which the server ends the session. */
const HEARTBEATS = 3
/** A stalled process keeps its locks for the longest ttl that it asked for, and at least for this long. */
const SHORTEST_IDLE_MS = 5000

/** The holds that keep the session alive. */
export interface Holds {
  /** The latest end of a hold; zero when there are none. */
  heldUntilMs(): number
  /** Called when a connection has ended, with all its locks. */
  lost(): void
}

/** The one connection that holds all locks of a store, opened when it is needed and again after it broke. */
export class AdvisorySession {
  private readonly server: SessionServer
  private readonly runtime: Runtime
  private readonly timeout: StatementTimeout
  private readonly holds: Holds
  private connection: SessionConnection | null = null
  private opening: Promise<SessionConnection> | null = null
  /** Each rejects a statement in flight. */
  private readonly pending = new Set<(error: Error) => void>()
  private idleMs = 0
  private heardAtMs = 0
  private timer: Timer | null = null
  private closed = false

  constructor(server: SessionServer, runtime: Runtime, timeout: StatementTimeout, holds: Holds) {
    this.server = server
    this.runtime = runtime
    this.timeout = timeout
    this.holds = holds
  }

  open(): Promise<SessionConnection> {
    this.opening ??= this.connect().finally(() => {
      this.opening = null
    })
    return this.opening
  }

  /** Runs one statement. After an error none of the locks of the operations is held. */
  async run(operations: readonly LockOperation[], ttlMs: number): Promise<readonly boolean[]> {
    const connection = this.connection ?? (await this.open())
    try {
      if (ttlMs > this.idleMs) await this.keepFor(connection, ttlMs)
      const done = await this.bounded(connection, connection.run(operations))
      // An answer that came with the end of its connection is void.
      if (this.connection === connection) return done
      throw ended()
    } catch (error) {
      if (this.connection === connection) await this.undo(connection, operations)
      throw orConflict(error)
    }
  }

  async holders(name: string): Promise<readonly SeenHolder[]> {
    const connection = this.connection ?? (await this.open())
    return this.bounded(connection, connection.holders(name))
  }

  async close(): Promise<void> {
    this.closed = true
    const connection = this.connection ?? (await this.opening?.catch(() => null)) ?? null
    this.forget()
    await connection?.close()
    await this.server.close()
  }

  private async connect(): Promise<SessionConnection> {
    if (this.closed) throw new StoreError('the store is closed')
    // A connection may end while it is being opened: the next statement on it fails then.
    let opened: SessionConnection | null = null
    const connection = await this.server.open(() => {
      if (opened !== null) this.drop(opened)
    })
    if (this.closed) {
      await connection.close()
      throw new StoreError('the store is closed')
    }
    opened = connection
    this.connection = connection
    this.idleMs = 0
    try {
      await this.keepFor(connection, SHORTEST_IDLE_MS)
    } catch (error) {
      this.drop(connection)
      throw error
    }
    this.watch(connection)
    return connection
  }

  private async keepFor(connection: SessionConnection, idleMs: number): Promise<void> {
    await this.bounded(connection, connection.keepFor(idleMs))
    this.idleMs = idleMs
  }

  /** A failed statement may have done some of its operations; unlocking a lock that is not held does no harm. */
  private async undo(connection: SessionConnection, operations: readonly LockOperation[]): Promise<void> {
    const back = operations.map((step): LockOperation => ({ ...step, kind: 'unlock' }))
    try {
      await this.bounded(connection, connection.run(back))
    } catch {
      this.drop(connection)
    }
  }

  /**
   * Settles like the call, or rejects when the connection ends, even if the client library does not notice. A server that does not
   * answer in time is given up, but not while a hold may be alive: it would end with the session.
   */
  private bounded<T>(connection: SessionConnection, call: Promise<T>): Promise<T> {
    if (this.connection !== connection) return Promise.reject(ended())
    return new Promise((resolve, reject) => {
      let deadline = this.runtime.setTimer(() => silent(), this.timeout.ms, true)
      const silent = (): void => {
        const leftMs = this.holds.heldUntilMs() - this.runtime.nowMs()
        if (leftMs > 0) deadline = this.runtime.setTimer(silent, leftMs, true)
        else this.drop(connection)
      }
      const end = (error: Error): void => {
        deadline.clear()
        reject(error)
      }
      const heard = (): void => {
        deadline.clear()
        this.pending.delete(end)
        this.heardAtMs = this.runtime.nowMs()
      }
      this.pending.add(end)
      call.then(
        (value) => {
          heard()
          resolve(value)
        },
        (error) => {
          heard()
          reject(error)
        },
      )
    })
  }

  /** Sends heartbeats, which keep the session. */
  private watch(connection: SessionConnection): void {
    const checkMs = this.idleMs / HEARTBEATS
    this.timer = this.runtime.setTimer(
      () => {
        const silentMs = this.runtime.nowMs() - this.heardAtMs
        if (silentMs >= checkMs / 2 && this.pending.size === 0) this.beat(connection)
        if (this.connection === connection) this.watch(connection)
      },
      checkMs,
      true,
    )
  }

  private beat(connection: SessionConnection): void {
    this.bounded(connection, connection.run([])).catch(() => this.drop(connection))
  }

  private drop(connection: SessionConnection): void {
    if (this.connection !== connection) return
    this.forget()
    void connection.close().catch(() => {})
    this.holds.lost()
  }

  private forget(): void {
    this.timer?.clear()
    this.timer = null
    this.connection = null
    for (const end of [...this.pending]) end(ended())
    this.pending.clear()
  }
}

function ended(): StoreError {
  return new StoreError('the connection that holds the locks ended')
}
