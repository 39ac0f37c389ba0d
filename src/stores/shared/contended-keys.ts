import type { ClaimAnswer } from '../../model/index.ts'

const MOST_KEYS = 10_000

/** The keys with other claims lately: on these the statement of a fast path would nearly always be wasted. */
export class ContendedKeys {
  private readonly keys = new Set<string>()

  has(key: string): boolean {
    return this.keys.has(key)
  }

  note(key: string, answer: ClaimAnswer): void {
    if (answer.kind === 'granted' && !answer.contended) {
      this.keys.delete(key)
      return
    }
    if (this.keys.size >= MOST_KEYS) this.keys.clear()
    this.keys.add(key)
  }
}
