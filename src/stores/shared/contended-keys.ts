import type { ClaimAnswer } from '../../model/index.ts'

const MOST_KEYS = 10_000

/** The keys at which others were met lately: there a fast path would nearly always be a statement for nothing. */
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
