import type { Runtime, Timer } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import { orConflict } from '../server-errors.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import type { LockOperation, SeenHolder, SessionConnection, SessionServer } from './session-server.ts'

/** A server hears of us at least this often in the time after which it would end the session. */
const SIGNS_OF_LIFE = 3
/** A process that stands still keeps its locks for the longest ttl that it asked for, and never for less than this. */
const SHORTEST_IDLE_MS = 5000

/** What the session is kept for. */
export interface Holds {
  /** When the last of them ends; zero when there are none. */
  heldUntilMs(): number
  /** Told when a connection ended, with all its locks. */
  lost(): void
}

/** The one connection that holds all locks of a store; made when it is needed, and again after it broke. */
export class LockSession {
  private readonly server: SessionServer
  private readonly runtime: Runtime
  private readonly timeout: StatementTimeout
  private readonly holds: Holds
  private connection: SessionConnection | null = null
  private opening: Promise<SessionConnection> | null = null
  /** Ends the wait for a statement that is under way. */
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

  /** In one statement; an error leaves none of the locks that the operations are about. */
  async run(operations: readonly LockOperation[], ttlMs: number): Promise<readonly boolean[]> {
    const connection = this.connection ?? (await this.open())
    try {
      if (ttlMs > this.idleMs) await this.keepFor(connection, ttlMs)
      const done = await this.bounded(connection, connection.run(operations))
      // An answer that came with the end of its connection is history.
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
    // It may end while it is being opened, and is nobody's then: the next statement on it fails.
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

  /** A failed statement may have taken some of its operations; a lock that is not held can be given back without harm. */
  private async undo(connection: SessionConnection, operations: readonly LockOperation[]): Promise<void> {
    const back = operations.map((step): LockOperation => ({ ...step, kind: 'unlock' }))
    try {
      await this.bounded(connection, connection.run(back))
    } catch {
      this.drop(connection)
    }
  }

  /**
   * Settles like the call, or rejects when the connection ends, whatever the client library makes of that. A server that does
   * not answer in time is given up, but not as long as a hold may live: it would end with the session.
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

  /** A sign of life keeps the session. */
  private watch(connection: SessionConnection): void {
    const checkMs = this.idleMs / SIGNS_OF_LIFE
    this.timer = this.runtime.setTimer(
      () => {
        const silentMs = this.runtime.nowMs() - this.heardAtMs
        if (silentMs >= checkMs / 2 && this.pending.size === 0) this.sign(connection)
        if (this.connection === connection) this.watch(connection)
      },
      checkMs,
      true,
    )
  }

  private sign(connection: SessionConnection): void {
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
