import type { TimerEntry } from '../../../core/calls/timer-heap.ts'
import type { StoreNotice } from '../../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../../model/index.ts'

/** A waiting claim of this process, and the pace of its queue. It rings when it is time to poll. */
export interface LocalWaiter extends TimerEntry {
  readonly id: string
  readonly key: string
  position: number
  /** When the position last changed, and how long each position took. */
  movedAtMs: number
  paceMs: number
}

const FIRST_PACE_MS = 5

/** The claims of this process in queues. */
export class LocalWaiters {
  readonly byId = new Map<string, LocalWaiter>()
  /** The waiters that rang, in that order. */
  readonly due = new Set<LocalWaiter>()
  private readonly positioned: (waiter: LocalWaiter) => void
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  /** `positioned` is called when the position of a waiter has been read. */
  constructor(placed: (waiter: LocalWaiter) => void) {
    this.positioned = placed
  }

  listen(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  note({ id, key, queue }: Claim, answer: ClaimAnswer, nowMs: number): void {
    if (!queue || answer.kind !== 'blocked' || answer.position === 0) this.forget(id)
    else this.setPosition(id, key, answer.position, nowMs)
  }

  setPosition(id: string, key: string, position: number, nowMs: number): void {
    const waiter = this.byId.get(id) ?? this.add(id, key, position, nowMs)
    if (position < waiter.position) {
      waiter.paceMs = (nowMs - waiter.movedAtMs) / (waiter.position - position)
      waiter.movedAtMs = nowMs
    }
    waiter.position = position
    this.positioned(waiter)
  }

  forget(id: string): void {
    const waiter = this.byId.get(id)
    if (waiter === undefined) return
    this.byId.delete(id)
    this.due.delete(waiter)
  }

  deliver(notice: StoreNotice): void {
    if (notice.kind === 'granted') this.forget(notice.id)
    for (const listener of this.listeners) listener(notice)
  }

  /** Notifications may have been lost, so every waiter retries. */
  retryAll(): void {
    for (const [id, { key }] of this.byId) this.deliver({ kind: 'retry', id, key })
  }

  clear(): void {
    this.byId.clear()
    this.due.clear()
    this.listeners.clear()
  }

  private add(id: string, key: string, position: number, nowMs: number): LocalWaiter {
    const fire = (): void => {
      if (this.byId.get(id) === waiter) this.due.add(waiter)
    }
    const waiter = {
      id,
      key,
      position,
      movedAtMs: nowMs,
      paceMs: FIRST_PACE_MS,
      dueMs: nowMs,
      index: -1,
      fire,
    }
    this.byId.set(id, waiter)
    return waiter
  }
}
