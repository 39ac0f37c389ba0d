import type { StoreNotice } from '../../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../../model/index.ts'

/** A claim of this process that waits, and how its queue moves. */
export interface Waiter {
  readonly key: string
  position: number
  /** When the position was last seen to change, and how long it took for each position then. */
  movedAtMs: number
  paceMs: number
  /** When to look whether it has come to its turn; null when that is not known yet. */
  lookAtMs: number | null
}

const FIRST_PACE_MS = 5

/** The claims of this process that stand in a queue. */
export class Waiting {
  readonly waiters = new Map<string, Waiter>()
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  listen(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  note({ id, key, queue }: Claim, answer: ClaimAnswer, nowMs: number): void {
    if (!queue || answer.kind !== 'blocked' || answer.position === 0) this.forget(id)
    else this.place(id, key, answer.position, nowMs)
  }

  place(id: string, key: string, position: number, nowMs: number): void {
    const waiter = this.waiters.get(id)
    if (waiter === undefined) {
      this.waiters.set(id, { key, position, movedAtMs: nowMs, paceMs: FIRST_PACE_MS, lookAtMs: null })
      return
    }
    if (position < waiter.position) {
      waiter.paceMs = (nowMs - waiter.movedAtMs) / (waiter.position - position)
      waiter.movedAtMs = nowMs
    }
    waiter.position = position
    waiter.lookAtMs = null
  }

  forget(id: string): void {
    this.waiters.delete(id)
  }

  tell(notice: StoreNotice): void {
    if (notice.kind === 'granted') this.forget(notice.id)
    for (const listener of this.listeners) listener(notice)
  }

  /** Something may have been missed: every waiter is told to ask again. */
  tellAll(): void {
    for (const [id, { key }] of this.waiters) this.tell({ kind: 'retry', id, key })
  }

  clear(): void {
    this.waiters.clear()
    this.listeners.clear()
  }
}
