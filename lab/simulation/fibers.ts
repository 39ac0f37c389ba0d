import type { Host } from './host.ts'

/** Counts the fibers at work; those of a dead process are at work no more. */
export class Fibers {
  private readonly counts = new Map<Host, number>()

  add(host: Host): void {
    this.counts.set(host, (this.counts.get(host) ?? 0) + 1)
  }

  remove(host: Host): void {
    this.counts.set(host, (this.counts.get(host) ?? 0) - 1)
  }

  get atWork(): number {
    let sum = 0
    for (const [host, count] of this.counts) if (host.alive) sum += count
    return sum
  }
}
