import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { KeyNotification } from '../../model/index.ts'
import { encodeNotification } from '../shared/notifications.ts'
import { isInboxName } from './dead-processes.ts'
import { LAST_WRITES_MS, SqliteInbox, wakeFolder } from './inbox.ts'

type Listener = (notice: StoreNotice) => void

/** Sends notifications to the stores that they concern, in this process or another, after their commit. */
export class NotificationChannel {
  private readonly listeners = new Set<Listener>()
  private readonly database: string
  private readonly runtime: Runtime
  private readonly outbox: Outbox
  private inbox: SqliteInbox | null = null

  constructor(database: string, runtime: Runtime) {
    this.database = database
    this.runtime = runtime
    this.outbox = new Outbox(database, runtime)
  }

  /** The address of notifications to this store; null as long as nobody listens. */
  get address(): string | null {
    return this.inbox?.name ?? null
  }

  listen(listener: Listener): () => void {
    this.inbox ??= new SqliteInbox(this.database, this.runtime, (notice) => this.announce(notice))
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Called before a claim may have to wait. */
  touch(): void {
    this.inbox?.touch()
  }

  send(notifications: readonly KeyNotification[]): void {
    if (notifications.length === 0) return
    const lines = new Map<string, string>()
    for (const notification of notifications) {
      const { inbox } = notification
      if (inbox === null) continue
      if (inbox === this.address) {
        const { key, notice } = notification
        this.runtime.defer(() => this.announce({ ...notice, key }))
      } else {
        lines.set(inbox, `${lines.get(inbox) ?? ''}${encodeNotification(notification)}\n`)
      }
    }
    for (const [inbox, text] of lines) this.outbox.append(inbox, text)
  }

  close(): void {
    this.listeners.clear()
    this.outbox.close()
    this.inbox?.close()
    this.inbox = null
  }

  private announce(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}

/** Shorter than a replaced inbox file is read, so that nothing is written to a file that is no longer read. */
const OPEN_MS = LAST_WRITES_MS / 2
const MOST_OPEN = 64

interface Slot {
  readonly descriptor: number
  readonly openedAtMs: number
}

/** The inbox files of other processes, kept open for a moment: a contended key writes to the same few again and again. */
class Outbox {
  private readonly folder: string
  private readonly runtime: Runtime
  private readonly slots = new Map<string, Slot>()

  constructor(database: string, runtime: Runtime) {
    this.folder = wakeFolder(database)
    this.runtime = runtime
  }

  /** Appends lines to an inbox. They are hints, so a failure is not reported. */
  append(inbox: string, lines: string): void {
    try {
      writeSync(this.descriptorOf(inbox), lines)
    } catch {
      // Its owner is gone or cannot be reached. Waiters poll anyway.
      this.shut(inbox)
    }
  }

  close(): void {
    for (const inbox of [...this.slots.keys()]) this.shut(inbox)
  }

  private descriptorOf(inbox: string): number {
    const nowMs = this.runtime.nowMs()
    const slot = this.slots.get(inbox)
    if (slot !== undefined && nowMs - slot.openedAtMs < OPEN_MS) return slot.descriptor
    this.shut(inbox)
    if (!isInboxName(inbox)) throw new Error('not an inbox')
    if (this.slots.size >= MOST_OPEN) this.close()
    const descriptor = openSync(join(this.folder, inbox), constants.O_WRONLY | constants.O_APPEND)
    this.slots.set(inbox, { descriptor, openedAtMs: nowMs })
    return descriptor
  }

  private shut(inbox: string): void {
    const slot = this.slots.get(inbox)
    if (slot === undefined) return
    this.slots.delete(inbox)
    closeSync(slot.descriptor)
  }
}
