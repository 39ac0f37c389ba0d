import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import type { KeyLetter } from '../../../model/index.ts'
import { decodeNotification, encodeNotification } from '../../shared/notifications.ts'
import type { ServerInbox } from './store.ts'

/** How often a process that holds something looks for what it is told. */
const LOOK_MS = 1000
/** A holder that has not looked for so long has lost its hold, or hears of it by its renewal. */
export const NOTIFICATION_KEPT_MS = 60_000
export const NOTIFICATIONS_PER_READ = 100

/** Where letters lie: among the records, under names that no record has. */
export interface InboxTable {
  /** Kept for `MAIL_KEPT_MS`; a letter of that name may be there already. */
  write(name: string, letter: string): Promise<unknown>
  /** The first few letters from one name on, up to another. */
  read(from: string, to: string): Promise<readonly { readonly name: string; readonly letter: string }[]>
  remove(name: string): Promise<unknown>
}

/** Leaves word for a holder that is asked to let go, or was evicted: nobody else tells it, and a renewal may be far. */
export async function leaveNotifications(table: InboxTable, letters: readonly KeyLetter[]): Promise<void> {
  for (const letter of letters) {
    const { notice, inbox } = letter
    if (notice.kind === 'revoked' || (notice.kind === 'lost' && notice.cause === 'evicted'))
      await table.write(`${rangeOf(inbox as string)[0]}${notice.id}`, encodeNotification(letter))
  }
}

/** Looks for word to this process by one statement on the primary key, as long as it holds something and nobody else tells it. */
export class PolledInbox implements ServerInbox {
  readonly address: string
  readonly starting = null
  private readonly table: InboxTable
  private readonly runtime: Runtime
  /** The claims that hold their keys, and until when they do at the longest. */
  private readonly holds = new Map<string, number>()
  private deliver: (notice: StoreNotice) => void = () => {}
  private timer: Timer | null = null
  private on = true
  private closed = false

  constructor(table: InboxTable, address: string, runtime: Runtime) {
    this.table = table
    this.address = address
    this.runtime = runtime
  }

  start(deliver: (notice: StoreNotice) => void): void {
    this.deliver = deliver
  }

  held(id: string, ttlMs: number): void {
    if (ttlMs > 0) this.holds.set(id, this.runtime.nowMs() + ttlMs)
    else this.holds.delete(id)
    this.arm()
  }

  /** Off as long as the database tells by itself. */
  switch(on: boolean): void {
    this.on = on
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
  }

  private arm(): void {
    if (!this.closed && this.timer === null && this.holds.size > 0)
      this.timer = this.runtime.setTimer(() => void this.poll(), LOOK_MS, true)
  }

  private async poll(): Promise<void> {
    const nowMs = this.runtime.nowMs()
    for (const [id, untilMs] of this.holds) if (untilMs <= nowMs) this.holds.delete(id)
    // Notices are hints: one that cannot be read now is read by the next look.
    if (this.on && this.holds.size > 0) await this.take().catch(() => {})
    this.timer = null
    this.arm()
  }

  private async take(): Promise<void> {
    for (const { name, letter } of await this.table.read(...rangeOf(this.address))) {
      const notice = decodeNotification(letter)
      if (notice !== null) this.deliver(notice)
      await this.table.remove(name)
    }
  }
}

/** The letters of an inbox: from the first name up to the second. */
function rangeOf(inbox: string): [from: string, to: string] {
  return [`inbox:${inbox}:`, `inbox:${inbox};`]
}
