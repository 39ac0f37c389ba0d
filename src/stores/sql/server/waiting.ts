import type { StoreNotice } from '../../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../../model/index.ts'

export interface Place {
  readonly key: string
  position: number
  readonly sinceMs: number
  /** When to look whether it has come to its turn; null when that is not known yet. */
  lookAtMs: number | null
}

/** The claims of this process that stand in a line. */
export class Waiting {
  readonly places = new Map<string, Place>()
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  listen(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  note({ id, key, queue }: Claim, answer: ClaimAnswer, nowMs: number): void {
    if (!queue || answer.kind !== 'blocked' || answer.position === 0) {
      this.forget(id)
      return
    }
    const sinceMs = this.places.get(id)?.sinceMs ?? nowMs
    this.places.set(id, { key, position: answer.position, sinceMs, lookAtMs: null })
  }

  forget(id: string): void {
    this.places.delete(id)
  }

  tell(notice: StoreNotice): void {
    if (notice.kind === 'granted') this.forget(notice.id)
    for (const listener of this.listeners) listener(notice)
  }

  /** Something may have been missed: whoever waits is told to look. */
  tellAll(): void {
    for (const [id, { key }] of this.places) this.tell({ kind: 'lost', id, key, cause: 'expired' })
  }

  clear(): void {
    this.places.clear()
    this.listeners.clear()
  }
}
