import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtime } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import type { KeyLetter } from '../../../model/index.ts'
import { encodeLetter } from '../letters.ts'
import { isInboxName } from './graveyard.ts'
import { Inbox, wakeFolder } from './inbox.ts'

type Listener = (notice: StoreNotice) => void

/** Takes letters to the stores they are for, in this process or another, after the commit that they tell of. */
export class Post {
  private readonly listeners = new Set<Listener>()
  private readonly folder: string
  private readonly database: string
  private readonly runtime: Runtime
  private inbox: Inbox | null = null

  constructor(database: string, runtime: Runtime) {
    this.database = database
    this.folder = wakeFolder(database)
    this.runtime = runtime
  }

  /** Where letters to this store go; null as long as nobody listens. */
  get address(): string | null {
    return this.inbox?.name ?? null
  }

  listen(listener: Listener): () => void {
    this.inbox ??= new Inbox(this.database, this.runtime, (notice) => this.announce(notice))
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Called before a claim may have to wait. */
  keep(): void {
    this.inbox?.keep()
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
        abroad.set(inbox, `${abroad.get(inbox) ?? ''}${encodeLetter(letter)}\n`)
      }
    }
    for (const [inbox, lines] of abroad) this.append(inbox, lines)
  }

  close(): void {
    this.listeners.clear()
    this.inbox?.close()
    this.inbox = null
  }

  private announce(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }

  private append(inbox: string, lines: string): void {
    if (!isInboxName(inbox)) return
    try {
      const descriptor = openSync(join(this.folder, inbox), constants.O_WRONLY | constants.O_APPEND)
      try {
        writeSync(descriptor, lines)
      } finally {
        closeSync(descriptor)
      }
    } catch {
      // Its owner is gone or cannot be told. Whoever waits there looks again by itself.
    }
  }
}
