import type { Lease } from '../../index.ts'

/** How long a command may take to end. */
const LONGEST_GRACE_MS = 2_000
/** The grace when the lease is over already: every moment more is one without the lock. */
const LAST_CHANCE_MS = 200

/** Renewals leave at least a third of the ttl, so a quarter is reached only when they fail. */
export function graceOf(ttlMs: number): number {
  return Math.min(LONGEST_GRACE_MS, ttlMs / 4)
}

/** How long to wait between SIGTERM and SIGKILL so that the command is gone when the lease ends. */
export function killDelayOf(remainingMs: number): number {
  return remainingMs > 0 ? remainingMs * 0.8 : LAST_CHANCE_MS
}

/** Watches a lease for a command that cannot do it itself. */
export class Warning {
  /** Settles when the lease is lost, or has so little time left that the command must be ended now. */
  readonly due: Promise<string>
  private readonly lease: Lease
  private readonly graceMs: number
  private timer: NodeJS.Timeout | undefined
  private resolve: (why: string) => void = () => {}

  constructor(lease: Lease, graceMs: number) {
    this.lease = lease
    this.graceMs = graceMs
    this.due = new Promise((resolve) => {
      this.resolve = resolve
    })
    lease.signal.addEventListener('abort', this.onLost, { once: true })
    this.check()
  }

  stop(): void {
    clearTimeout(this.timer)
    this.lease.signal.removeEventListener('abort', this.onLost)
  }

  private give(why: string): void {
    this.stop()
    this.resolve(why)
  }

  private check(): void {
    const spareMs = this.lease.remainingMs() - this.graceMs
    if (this.lease.signal.aborted) this.onLost()
    else if (spareMs <= 0) this.give('it could not be renewed in time')
    else this.timer = setTimeout(() => this.check(), spareMs)
  }

  private readonly onLost = (): void => {
    const reason: unknown = this.lease.signal.reason
    this.give(reason instanceof Error ? reason.message.replace(/^.* was lost: /s, '') : String(reason))
  }
}
