import type { Runtime } from '../../core/runtime.ts'
import type { ClaimReply, StoreNotice } from '../../core/store.ts'
import { type Claim, type LossCause, tokenOf } from '../../model/index.ts'
import type { RedisClient } from './clients/client.ts'
import { ResilientSubscription } from './clients/resilient-subscription.ts'
import { inboxChannel, keyOfLock } from './names.ts'

/** The key of a lock by its name in Redis. */
type KeyOf = (name: string) => string

/** The channel to which scripts publish notifications for this process: one subscription, on a connection of its own. */
export class Inbox {
  readonly address: string
  private readonly client: RedisClient
  private readonly runtime: Runtime
  private readonly deadlineMs: number
  private readonly keyOf: KeyOf
  private readonly listeners = new Set<(notice: StoreNotice) => void>()
  /** Claims in the queue, by id: after a gap of the subscription they must retry. */
  private readonly waiting = new Map<string, string>()
  private subscription: ResilientSubscription | null = null
  private begun = false

  constructor(client: RedisClient, runtime: Runtime, deadlineMs: number, keyOf: KeyOf = keyOfLock) {
    this.client = client
    this.runtime = runtime
    this.deadlineMs = deadlineMs
    this.keyOf = keyOf
    this.address = runtime.newId()
  }

  listen(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    this.subscription ??= new ResilientSubscription(this.client, this.runtime, this.deadlineMs, {
      channel: inboxChannel(this.address),
      receive: (message) => this.receive(message),
      up: () => this.up(),
      needed: () => this.waiting.size > 0,
    })
    void this.subscription.begun.then(() => {
      this.begun = true
    })
    return () => this.listeners.delete(listener)
  }

  note({ id, key, queue }: Claim, answer: ClaimReply): void {
    if (queue && answer.kind === 'blocked') this.waiting.set(id, key)
    else this.forget(id)
  }

  forget(id: string): void {
    if (this.waiting.size > 0) this.waiting.delete(id)
  }

  forgetAll(claims: readonly Claim[]): void {
    if (this.waiting.size > 0) for (const { id } of claims) this.waiting.delete(id)
  }

  /** Null once the subscription has begun or failed; a holder or waiter before that would miss notifications. */
  get beginning(): Promise<void> | null {
    return this.begun ? null : (this.subscription?.begun ?? null)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    this.waiting.clear()
    await this.subscription?.close()
  }

  private receive(message: string): void {
    const notice = parseNotification(message, this.keyOf)
    if (notice === null) return
    if (notice.kind === 'granted') this.forget(notice.id)
    this.tell(notice)
  }

  /** Messages flow again, and some may have been missed: waiters retry. */
  private up(): void {
    for (const [id, key] of this.waiting) this.tell({ kind: 'retry', id, key })
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}

/** Parses a message of a script. Null for anything else: notifications are hints, and an unknown one is as good as lost. */
export function parseNotification(message: string, keyOf: KeyOf = keyOfLock): StoreNotice | null {
  // Split and not matched: this code runs rarely before a waiter's turn, and a cold regular expression is slow.
  const fields = message.split('\0')
  const kind = fields[0]
  const id = fields[1] ?? ''
  const key = keyOf(fields.length < 3 ? '' : (fields[fields.length - 1] as string))
  switch (kind) {
    case 'granted':
      return {
        kind,
        id,
        key,
        token: tokenOf(Number(fields[2])),
        spare: Number(fields[3]),
        contended: fields[4] === '1',
        storeTimeMs: Number(fields[5]),
        lifeMs: Number(fields[6]),
      }
    case 'lost':
      return { kind, id, key, cause: fields[2] as LossCause }
    case 'contended':
    case 'revoked':
    case 'retry':
      return { kind, id, key }
    default:
      return null
  }
}
