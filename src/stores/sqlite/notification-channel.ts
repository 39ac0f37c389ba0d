import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import type { KeyLetter } from '../../model/index.ts'
import { encodeNotification } from '../shared/notifications.ts'
import { SqliteInbox } from './inbox.ts'
import { Outbox } from './outbox.ts'

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
