import type { Runtime, Timer } from '../../core/runtime.ts'
import { type Emitter, ignore } from '../../stores/redis/clients/client.ts'
import {
  type Connector,
  connectorOf,
  type TransactionClient,
  type TransactionConnection,
} from './connection.ts'

/** So many transactions of one client run at the same time; the others wait for their turn. */
const MOST_CONNECTIONS = 10
const LONGEST_IDLE_MS = 10_000
/** Clients wait without an end for a server that accepts a connection and stays silent. */
const LONGEST_OPENING_MS = 3000

const pools = new WeakMap<object, ConnectionPool>()

/** The connections beside a client. They are kept for a while, and closed when the client is. */
export class ConnectionPool {
  private readonly runtime: Runtime
  private readonly client: Emitter
  private readonly connector: Connector
  private readonly idle: { readonly connection: TransactionConnection; readonly sinceMs: number }[] = []
  private readonly queue: { readonly begin: () => void; readonly signal: AbortSignal }[] = []
  private busy = 0
  private timer: Timer | null = null

  static of(client: TransactionClient, runtime: Runtime): ConnectionPool {
    const connector = connectorOf(client)
    const pool = pools.get(client) ?? new ConnectionPool(client as unknown as Emitter, connector, runtime)
    pools.set(client, pool)
    return pool
  }

  private constructor(client: Emitter, connector: Connector, runtime: Runtime) {
    this.client = client
    this.connector = connector
    this.runtime = runtime
  }

  /** After `signal` a place in the queue is given up, and nothing is opened any more. */
  async take(signal: AbortSignal): Promise<TransactionConnection> {
    if (this.busy < MOST_CONNECTIONS) this.busy++
    else await new Promise<void>((begin) => this.queue.push({ begin, signal }))
    try {
      for (;;) {
        const connection = this.reuse() ?? (await this.open())
        if (connection !== null) return connection
        signal.throwIfAborted()
      }
    } catch (error) {
      this.next()
      throw error
    }
  }

  /** Takes back a connection that watches nothing. */
  give(connection: TransactionConnection): void {
    if (connection.usable && this.connector.alive) {
      connection.idle()
      if (this.idle.length === 0) this.client.on('end', this.closeIdle)
      this.idle.push({ connection, sinceMs: this.runtime.nowMs() })
      this.watchIdle()
    } else {
      connection.close()
    }
    this.next()
  }

  /** Closes a connection whose state is not known. */
  drop(connection: TransactionConnection): void {
    connection.close()
    this.next()
  }

  private reuse(): TransactionConnection | null {
    for (;;) {
      const last = this.idle.pop()
      if (last === undefined) return null
      if (this.idle.length === 0) this.forget()
      if (last.connection.usable) {
        last.connection.busy()
        return last.connection
      }
      last.connection.close()
    }
  }

  /** Null for a connection that was late, and is closed. */
  private async open(): Promise<TransactionConnection | null> {
    const { connection, ready } = this.connector.open()
    let timer: Timer | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = this.runtime.setTimer(() => resolve(false), LONGEST_OPENING_MS, true)
    })
    let opened = false
    try {
      opened = await Promise.race([ready.then(() => true), late])
      return opened ? connection : null
    } finally {
      timer?.clear()
      if (!opened) {
        connection.close()
        ready.then(connection.close, ignore)
      }
    }
  }

  private next(): void {
    let next = this.queue.shift()
    while (next?.signal.aborted) next = this.queue.shift()
    if (next === undefined) this.busy--
    else next.begin()
  }

  private watchIdle(): void {
    const [oldest] = this.idle
    if (oldest === undefined || this.timer !== null) return
    const leftMs = oldest.sinceMs + LONGEST_IDLE_MS - this.runtime.nowMs()
    this.timer = this.runtime.setTimer(this.closeOld, leftMs, true)
  }

  private readonly closeOld = (): void => {
    this.timer = null
    const old = this.runtime.nowMs() - LONGEST_IDLE_MS
    while (this.idle[0] !== undefined && this.idle[0].sinceMs <= old) this.idle.shift()?.connection.close()
    if (this.idle.length === 0) this.forget()
    else this.watchIdle()
  }

  private readonly closeIdle = (): void => {
    for (const { connection } of this.idle.splice(0)) connection.close()
    this.forget()
  }

  /** Leaves neither a timer nor a listener behind while nothing is idle. */
  private forget(): void {
    this.timer?.clear()
    this.timer = null
    this.client.off('end', this.closeIdle)
  }
}
