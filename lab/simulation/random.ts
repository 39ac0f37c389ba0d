/** A seeded stream of chance (sfc32). The same seed and label give the same stream on every machine. */
export class Random {
  private a: number
  private b: number
  private c: number
  private counter = 1

  /** Streams with different labels are independent, so that leaving one out does not disturb the others. */
  constructor(seed: number, label: string) {
    let hash = 0x811c9dc5 ^ seed
    for (let index = 0; index < label.length; index++)
      hash = Math.imul(hash ^ label.charCodeAt(index), 0x01000193)
    this.a = hash
    this.b = seed
    this.c = Math.floor(seed / 2 ** 32) ^ 0x9e3779b9
    for (let round = 0; round < 12; round++) this.next()
  }

  /** A whole number from 0 up to 2^32 - 1. */
  next(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = this.b ^ (this.b >>> 9)
    this.b = (this.c + (this.c << 3)) | 0
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0
    return sum >>> 0
  }

  /** From 0 up to, not including, 1. */
  fraction(): number {
    return this.next() / 2 ** 32
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1))
  }

  chance(perMille: number): boolean {
    return perMille > 0 && this.fraction() * 1000 < perMille
  }

  pick<T>(items: readonly T[]): T {
    return items[this.whole(0, items.length - 1)] as T
  }

  /** Picks a name by its weight. */
  weighted<N extends string>(weights: Readonly<Record<N, number>>): N {
    const entries = Object.entries(weights) as [N, number][]
    let left = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return (entries.at(-1) as [N, number])[0]
  }
}
