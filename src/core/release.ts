import type { LockError } from '../errors.ts'
import type { ReleaseAnswer } from '../model/index.ts'
import type { Receiver } from './caller.ts'
import type { Engine } from './engine.ts'
import type { Hold } from './hold.ts'
import type { Soon } from './store.ts'

export type Outcome = 'released' | 'expired'

/** The lease that is being released. */
interface Releaser {
  tell(outcome: Outcome): void
  tellFailed(error: unknown): void
}

/** A release on its way. The lease is told first, so that it knows its end before whoever waits for it goes on. */
export class Releasing implements Receiver<ReleaseAnswer> {
  readonly promise: Promise<Outcome>
  releaser: Releaser | null = null
  private readonly engine: Engine
  private readonly hold: Hold
  private resolve!: (outcome: Outcome) => void
  private reject!: (error: unknown) => void

  constructor(engine: Engine, hold: Hold) {
    this.engine = engine
    this.hold = hold
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    engine.releasing.add(this)
  }

  static settled(release: Soon<Outcome> | Releasing): Soon<Outcome> {
    return release instanceof Releasing ? release.promise : release
  }

  follow(answers: Promise<readonly ReleaseAnswer[]>): this {
    answers.then(
      ([answer]) => this.answered(answer as ReleaseAnswer),
      (error) => this.failed(error),
    )
    return this
  }

  answered({ kind }: ReleaseAnswer): void {
    this.engine.releasing.delete(this)
    const outcome = kind === 'released' ? 'released' : 'expired'
    this.releaser?.tell(outcome)
    this.resolve(outcome)
  }

  /** The store may keep what was to be released, so it is tried again, apart from the caller. */
  failed(error: LockError): void {
    this.engine.releasing.delete(this)
    this.engine.abandoned.release(this.hold.claim)
    this.releaser?.tellFailed(error)
    this.reject(error)
  }
}
