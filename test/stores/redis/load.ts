import assert from 'node:assert/strict'
import type { Lease, Locks } from 'holdfast'
import { untilMet } from '../patience.ts'

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Watches that no two leases on one key are valid at the same time, and that tokens rise. */
export class Overlaps {
  private readonly inside = new Map<string, Set<Lease>>()
  private readonly tokens = new Map<string, bigint>()
  readonly found: string[] = []
  /** The highest token that anybody has seen, on any key. */
  highest = 0n

  enter(lease: Lease): void {
    const { key, token } = lease
    const others = this.inside.get(key) ?? new Set()
    this.inside.set(key, others)
    for (const other of others)
      if (other.held && lease.held) this.found.push(`${key}: ${other.token}, ${token}`)
    if ((token ?? 0n) <= (this.tokens.get(key) ?? 0n)) this.found.push(`${key}: token ${token} does not rise`)
    this.tokens.set(key, token ?? 0n)
    if ((token ?? 0n) > this.highest) this.highest = token ?? 0n
    others.add(lease)
  }

  leave(lease: Lease): void {
    this.inside.get(lease.key)?.delete(lease)
  }
}

interface Worker {
  readonly key: string
  rounds: number
  done: Promise<void>
}

/** Workers that take their key again and again, whatever happens to the server. */
export class Workers {
  private readonly overlaps: Overlaps
  private readonly workers: Worker[] = []
  private readonly errors: string[] = []
  private stopped = false

  constructor(overlaps: Overlaps) {
    this.overlaps = overlaps
  }

  start(locks: Locks, key: string): void {
    const worker: Worker = { key, rounds: 0, done: Promise.resolve() }
    worker.done = this.work(locks, worker)
    this.workers.push(worker)
  }

  /** From now on every worker has its turn again within that time. */
  async recover(withinMs: number): Promise<void> {
    const before = this.workers.map(({ rounds }) => rounds)
    const stuck = () =>
      this.workers.filter(({ rounds }, index) => rounds === before[index]).map(({ key }) => key)
    const problem = () => `no turn within ${withinMs} ms: ${stuck().join(', ')}`
    await untilMet(() => stuck().length === 0, withinMs, problem)
  }

  /** Every worker comes to its end; what the work met on its way is told. */
  async end({ overlapsAllowed = false } = {}): Promise<{ errors: readonly string[] }> {
    this.stopped = true
    await Promise.all(this.workers.map(({ done }) => done))
    const found = this.overlaps.found.filter((text) => !overlapsAllowed || text.includes('does not rise'))
    assert.deepEqual(found, [], 'two leases on one key were valid at the same time, or tokens fell')
    return { errors: this.errors }
  }

  private async work(locks: Locks, worker: Worker): Promise<void> {
    while (!this.stopped) {
      try {
        await locks.using(worker.key, async (lease) => {
          this.overlaps.enter(lease)
          await sleep(2)
          this.overlaps.leave(lease)
        })
        worker.rounds++
      } catch (error) {
        const { code } = error as { code?: string }
        assert.ok(code === 'STORE_UNAVAILABLE' || code === 'LEASE_LOST', `an unexpected error: ${error}`)
        this.errors.push(String(error))
        await sleep(5)
      }
    }
  }
}
