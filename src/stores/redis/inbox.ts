import type { StoreNotice } from '../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import type { RedisClient, Subscription } from './clients/client.ts'
import { type KeyOf, noticeOf } from './letters.ts'
import { inboxChannel, keyOfLock } from './names.ts'

/** Where the scripts send what this process must know. One subscription, on a connection of its own. */
export class Inbox {
  readonly address: string
  private readonly client: RedisClient
  private readonly keyOf: KeyOf
  private readonly listeners = new Set<(notice: StoreNotice) => void>()
  /** Claims that wait in the line: what was pushed to them while nobody listened is lost. */
  private readonly waiting = new Map<string, string>()
  private subscription: Subscription | null = null
  private begun = false

  constructor(client: RedisClient, address: string, keyOf: KeyOf = keyOfLock) {
    this.client = client
    this.keyOf = keyOf
    this.address = address
  }

  listen(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    this.subscription ??= this.client.subscribe(
      inboxChannel(this.address),
      (message) => this.receive(message),
      () => this.up(),
    )
    void this.subscription.begun.then(() => {
      this.begun = true
    })
    return () => this.listeners.delete(listener)
  }

  note({ id, key, queue }: Claim, answer: ClaimAnswer): void {
    if (queue && answer.kind === 'blocked') this.waiting.set(id, key)
    else this.forget(id)
  }

  forget(id: string): void {
    if (this.waiting.size > 0) this.waiting.delete(id)
  }

  forgetAll(claims: readonly Claim[]): void {
    if (this.waiting.size > 0) for (const { id } of claims) this.waiting.delete(id)
  }

  /** Null once we listen, or have tried to; whoever holds or waits before that would miss what is pushed to it. */
  get beginning(): Promise<void> | null {
    return this.begun ? null : (this.subscription?.begun ?? null)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    this.waiting.clear()
    await this.subscription?.close()
  }

  private receive(message: string): void {
    const notice = noticeOf(message, this.keyOf)
    if (notice === null) return
    if (notice.kind === 'granted') this.forget(notice.id)
    this.tell(notice)
  }

  /** Messages flow again, and some may have been missed: whoever waits is told to look. */
  private up(): void {
    for (const [id, key] of this.waiting) this.tell({ kind: 'lost', id, key, cause: 'expired' })
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}
