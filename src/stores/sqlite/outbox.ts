import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../core/runtime.ts'
import { isInboxName } from './dead-processes.ts'
import { LAST_WRITES_MS, wakeFolder } from './inbox.ts'

/** Shorter than an old mailbox is read, so that nobody writes into one that is read no more. */
const OPEN_MS = LAST_WRITES_MS / 2
const MOST_OPEN = 64

interface Slot {
  readonly descriptor: number
  readonly openedAtMs: number
}

/** The mailboxes of others, kept open for a moment: while a key is busy, the same few are written again and again. */
export class Outbox {
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
