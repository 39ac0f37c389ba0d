import type { Lease, Locks } from 'holdfast'
import { clockMs } from './clock.ts'
import type { HistoryWriter, Mode } from './history.ts'

/** Errors that a fault may cause for a caller; any other is a complaint. */
const EXPECTED = new Set(['STORE_UNAVAILABLE', 'LEASE_LOST', 'LOCK_TIMEOUT'])
const SAMPLE_MS = 150

/** The part of a lease that histories need: Holdfast's, or that of a lock broken on purpose. */
export type Held = Pick<Lease, 'token' | 'held' | 'remainingMs' | 'release'> & {
  readonly signal?: AbortSignal
}

export interface Claim {
  readonly key: string
  readonly mode: Mode
  readonly weight?: number
  readonly waitMs: number
  readonly handover: boolean
}

/** Takes leases and writes down all that is known of them, at the moment at which it is known. */
export class LockClient {
  private readonly name: string
  private readonly history: HistoryWriter
  /** The waiter for a key outside of all handovers: at most one. */
  private readonly asking = new Map<string, string>()
  private visits = 0

  constructor(name: string, history: HistoryWriter) {
    this.name = name
    this.history = history
  }

  /** Claims of these locks are one at a time for each key. */
  listen(locks: Pick<Locks, 'on'>): void {
    locks.on('waiting', ({ key }) => this.waiting(key))
  }

  waiting(key: string): void {
    const op = this.asking.get(key)
    if (op !== undefined) this.history.write({ f: 'waiting', op })
  }

  /** False when the key was not had. */
  async visit(
    claim: Claim,
    acquire: () => Promise<Held | null>,
    work: (stay: Stay) => Promise<void>,
  ): Promise<boolean> {
    const { key, mode, weight = 1, waitMs, handover } = claim
    const op = `${this.name}-${++this.visits}`
    if (!handover) this.asking.set(key, op)
    this.history.write({ f: 'asked', op, key, mode, weight, waitMs, handover })
    let lease: Held | null
    try {
      lease = await acquire()
    } catch (error) {
      this.failed(op, error)
      return false
    }
    if (lease === null) {
      this.history.write({ f: 'refused', op, why: 'busy' })
      return false
    }
    const stay = new Stay(op, key, lease, this.history)
    try {
      await work(stay)
    } finally {
      await this.leave(op, lease)
    }
    return true
  }

  private async leave(op: string, lease: Held): Promise<void> {
    this.history.write({ f: 'releasing', op })
    const outcome = await lease.release().catch((error: unknown) => {
      this.complain(error)
      return 'unknown' as const
    })
    this.history.write({ f: 'released', op, outcome })
  }

  private failed(op: string, error: unknown): void {
    const { code = '' } = error as { code?: string }
    this.history.write({ f: code === 'LOCK_TIMEOUT' ? 'refused' : 'unknown', op, why: code })
    this.complain(error)
  }

  private complain(error: unknown): void {
    const { code = '' } = error as { code?: string }
    if (!EXPECTED.has(code)) this.history.write({ f: 'complaint', text: `an unexpected error: ${error}` })
  }
}

/** The time with a lease. */
export class Stay {
  readonly op: string
  readonly key: string
  private readonly lease: Held
  private readonly history: HistoryWriter
  private sampledMs: number

  constructor(op: string, key: string, lease: Held, history: HistoryWriter) {
    this.op = op
    this.key = key
    this.lease = lease
    this.history = history
    // The clock is read before the lease is asked: what is told is never longer than what was known.
    const t = clockMs()
    this.sampledMs = t
    // A process that stood still may get its lease when it is over.
    const untilMs = lease.held ? t + lease.remainingMs() : 0
    history.write({ f: 'granted', op, token: lease.token?.toString() ?? null, untilMs }, t)
    lease.signal?.addEventListener('abort', () => history.write({ f: 'lost', op }), { once: true })
  }

  get token(): string {
    return String(this.lease.token ?? 0)
  }

  get held(): boolean {
    return this.lease.held
  }

  /** Stays for that long, or until the lease is over; tells whether it still is valid. */
  async forMs(ms: number, stepMs = 20): Promise<boolean> {
    const endMs = clockMs() + ms
    for (;;) {
      const t = clockMs()
      if (!this.lease.held) return false
      if (t - this.sampledMs > SAMPLE_MS) {
        this.sampledMs = t
        this.history.write({ f: 'held', op: this.op, untilMs: t + this.lease.remainingMs() }, t)
      }
      if (t >= endMs) return true
      await sleep(Math.min(stepMs, endMs - t))
    }
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
