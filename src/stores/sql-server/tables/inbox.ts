import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import type { KeyNotification } from '../../../model/index.ts'
import { decodeNotification, encodeNotification } from '../../shared/notifications.ts'
import type { ServerInbox } from './store.ts'

/** How often a process with holds polls its inbox. */
const POLL_MS = 1000
/** A holder that has not polled for so long has lost its hold, or hears of it by its renewal. */
export const NOTIFICATION_KEPT_MS = 60_000
export const NOTIFICATIONS_PER_READ = 100

/** Notifications in the table of the records, under names that no record has. */
export interface InboxTable {
  /** Kept for `NOTIFICATION_KEPT_MS`; one of that name may be there already. */
  write(name: string, notification: string): Promise<unknown>
  /** The first few notifications from one name on, up to another. */
  read(from: string, to: string): Promise<readonly { readonly name: string; readonly text: string }[]>
  remove(name: string): Promise<unknown>
}

/** Notifies holders that are asked to release or were evicted: their next renewal may be far. */
export async function leaveNotifications(
  table: InboxTable,
  notifications: readonly KeyNotification[],
): Promise<void> {
  for (const notification of notifications) {
    const { notice, inbox } = notification
    if (notice.kind === 'revoked' || (notice.kind === 'lost' && notice.cause === 'evicted'))
      await table.write(`${rangeOf(inbox as string)[0]}${notice.id}`, encodeNotification(notification))
  }
}

/** Polls for notifications by one statement on the primary key, as long as this process holds something and gets no push. */
export class PolledInbox implements ServerInbox {
  readonly address: string
  readonly starting = null
  private readonly table: InboxTable
  private readonly runtime: Runtime
  /** The claims that hold their keys, and their latest possible end. */
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

  /** Off as long as the database pushes notifications. */
  switch(on: boolean): void {
    this.on = on
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
  }

  private arm(): void {
    if (!this.closed && this.timer === null && this.holds.size > 0)
      this.timer = this.runtime.setTimer(() => void this.poll(), POLL_MS, true)
  }

  private async poll(): Promise<void> {
    const nowMs = this.runtime.nowMs()
    for (const [id, untilMs] of this.holds) if (untilMs <= nowMs) this.holds.delete(id)
    // Notifications are hints: the next poll reads those that this one cannot.
    if (this.on && this.holds.size > 0) await this.take().catch(() => {})
    this.timer = null
    this.arm()
  }

  private async take(): Promise<void> {
    for (const { name, text } of await this.table.read(...rangeOf(this.address))) {
      const notice = decodeNotification(text)
      if (notice !== null) this.deliver(notice)
      await this.table.remove(name)
    }
  }
}

/** The names of an inbox: from the first up to the second. */
function rangeOf(inbox: string): [from: string, to: string] {
  return [`inbox:${inbox}:`, `inbox:${inbox};`]
}
