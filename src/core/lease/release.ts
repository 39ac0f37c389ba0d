import type { LockError } from '../../errors.ts'
import type { ReleaseAnswer } from '../../model/index.ts'
import type { Receiver } from '../calls/pending-call.ts'
import type { Engine } from '../engine.ts'
import type { Soon } from '../store.ts'
import type { LocalHold } from './hold.ts'
import type { StoreLease } from './lease.ts'

export type ReleaseOutcome = 'released' | 'expired'

/** The local queue or the shared hold that a lease came from. */
export interface LeaseHome {
  release(lease: StoreLease): Soon<ReleaseOutcome> | Releasing
  /** The hold is over or no longer exclusive: the next waiter may ask for the key. */
  leave(lease: StoreLease): void
  /** The ttl of the hold when the lease asks for this one. */
  longerTtl?(ttlMs: number): number
  /** The lease is about to become text by which another process may adopt it. */
  serialising?(): void
}

/** The lease that is being released. */
interface Releaser {
  released(outcome: ReleaseOutcome): void
  releaseFailed(error: unknown): void
}

/** A release under way. The lease learns the outcome first, before the code that awaits the promise continues. */
export class Releasing implements Receiver<ReleaseAnswer> {
  readonly promise: Promise<ReleaseOutcome>
  private releaser: Releaser | null = null
  /** The outcome, if it came before `tells`. */
  private early: ((releaser: Releaser) => void) | null = null
  private readonly engine: Engine
  private readonly hold: LocalHold
  private resolve!: (outcome: ReleaseOutcome) => void
  private reject!: (error: unknown) => void

  constructor(engine: Engine, hold: LocalHold) {
    this.engine = engine
    this.hold = hold
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    engine.releaseBegan()
  }

  static settled(release: Soon<ReleaseOutcome> | Releasing): Soon<ReleaseOutcome> {
    return release instanceof Releasing ? release.promise : release
  }

  /** Sets the lease that learns the outcome. A store may have answered at once. */
  tells(releaser: Releaser): void {
    if (this.early === null) this.releaser = releaser
    else this.early(releaser)
  }

  follow(answers: Promise<readonly ReleaseAnswer[]>): this {
    answers.then(
      ([answer]) => this.answered(answer as ReleaseAnswer),
      (error) => this.failed(error),
    )
    return this
  }

  answered({ kind }: ReleaseAnswer): void {
    this.engine.releaseEnded()
    const outcome = kind === 'released' ? 'released' : 'expired'
    if (this.releaser === null) this.early = (releaser) => releaser.released(outcome)
    else this.releaser.released(outcome)
    this.resolve(outcome)
  }

  /** The store may keep the claim, so the clean-up queue releases it again. */
  failed(error: LockError): void {
    this.engine.releaseEnded()
    this.engine.cleanup.release(this.hold.claim)
    if (this.releaser === null) this.early = (releaser) => releaser.releaseFailed(error)
    else this.releaser.releaseFailed(error)
    this.reject(error)
  }
}
