import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { KeyLetter } from '../../model/index.ts'
import { encodeNotification } from '../shared/notifications.ts'
import { isInboxName } from './dead-processes.ts'
import { LAST_WRITES_MS, SqliteInbox, wakeFolder } from './inbox.ts'

type Listener = (notice: StoreNotice) => void

/** Takes letters to the stores they are for, in this process or another, after the commit that they tell of. */
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

  /** Where letters to this store go; null as long as nobody listens. */
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

  send(letters: readonly KeyLetter[]): void {
    if (letters.length === 0) return
    const abroad = new Map<string, string>()
    for (const letter of letters) {
      const { inbox } = letter
      if (inbox === null) continue
      if (inbox === this.address) {
        const { key, notice } = letter
        this.runtime.defer(() => this.announce({ ...notice, key }))
      } else {
        abroad.set(inbox, `${abroad.get(inbox) ?? ''}${encodeNotification(letter)}\n`)
      }
    }
    for (const [inbox, lines] of abroad) this.outbox.append(inbox, lines)
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

/** Shorter than an old mailbox is read, so that nobody writes into one that is read no more. */
const OPEN_MS = LAST_WRITES_MS / 2
const MOST_OPEN = 64

interface Slot {
  readonly descriptor: number
  readonly openedAtMs: number
}

/** The mailboxes of others, kept open for a moment: while a key is busy, the same few are written again and again. */
class Outbox {
  private readonly folder: string
  private readonly runtime: Runtime
  private readonly slots = new Map<string, Slot>()

  constructor(database: string, runtime: Runtime) {
    this.folder = wakeFolder(database)
    this.runtime = runtime
  }

  /** Appends lines to the mailbox of an inbox. They are hints, so that a failure is not told. */
  append(inbox: string, lines: string): void {
    try {
      writeSync(this.descriptorOf(inbox), lines)
    } catch {
      // Its owner is gone or cannot be told. Whoever waits there looks again by itself.
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
