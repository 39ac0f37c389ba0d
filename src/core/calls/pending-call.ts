import type { LockError } from '../../errors.ts'
import type { StoreCallName } from '../events.ts'
import type { StoreClient } from './store-client.ts'
import type { TimerEntry } from './timer-heap.ts'

/** Gets the result of a call: exactly one of the two methods is called, once. */
export interface Receiver<T> {
  answered(value: T): void
  failed(error: LockError): void
}

/** A call to the store that has not been answered. Its receiver hears once, and never after the deadline. */
export class PendingCall<T> implements TimerEntry {
  dueMs = 0
  index = -1
  readonly timeoutMs: number
  private readonly client: StoreClient
  private readonly name: StoreCallName
  private readonly claims: number
  private readonly sentAtMs: number
  private receiver: Receiver<T> | null

  constructor(
    client: StoreClient,
    name: StoreCallName,
    claims: number,
    sentAtMs: number,
    timeoutMs: number,
    receiver: Receiver<T>,
  ) {
    this.client = client
    this.name = name
    this.claims = claims
    this.sentAtMs = sentAtMs
    this.timeoutMs = timeoutMs
    this.receiver = receiver
  }

  answered(value: T): void {
    const receiver = this.take()
    if (receiver === null) return
    this.client.report(this.name, this.claims, this.sentAtMs, false)
    receiver.answered(value)
  }

  failed(error: unknown): void {
    const receiver = this.take()
    if (receiver !== null) receiver.failed(this.client.failed(this.name, this.claims, this.sentAtMs, error))
  }

  fire(): void {
    this.failed(new Error(`no answer within ${Math.round(this.timeoutMs)} ms`))
  }

  end(error: LockError): void {
    this.take()?.failed(error)
  }

  private take(): Receiver<T> | null {
    const { receiver } = this
    this.receiver = null
    this.client.deadlines.remove(this)
    return receiver
  }
}
