import type { Claim, Clock, KeyNotification } from '../../../model/index.ts'

/** The states that a step reads and replaces. */
export interface States<S> {
  get(key: string): S
  put(key: string, state: S): void
}

export interface StepResult<A> {
  readonly answer: A
  readonly notifications: readonly KeyNotification[]
}

type Work<S, A> = (states: States<S>, clock: Clock, rows: ReadonlyMap<string, unknown>) => StepResult<A>

const NO_ROWS: ReadonlyMap<string, unknown> = new Map()

/** A step as its executor sees it. */
export interface Step<S> {
  readonly keys: readonly string[]
  /** The claims of a step on locks. */
  readonly claims?: readonly Claim[]
  /** True if the step needs all claims of its keys. */
  readonly whole?: boolean
  apply(states: States<S>, clock: Clock, rows?: ReadonlyMap<string, unknown>): readonly KeyNotification[]
  /** Its last outcome is written. */
  done(): void
  failed(error: unknown): void
  /** Another transaction keeps a row locked. */
  blocked(clock: Clock, error: unknown): void
}

/**
 * One step on one key, or on several that change together. It may be applied more than once, each time to rows that were just
 * read; its promise settles when its last outcome is written.
 */
export class PendingStep<S, A> implements Step<S> {
  readonly keys: readonly string[]
  readonly promise: Promise<A>
  private readonly work: Work<S, A>
  /** The answer while another transaction keeps a row locked; null if the step can only fail then. */
  private readonly locked: ((clock: Clock) => A) | null
  private answer: A | undefined
  private resolve: (answer: A) => void = () => {}
  private reject: (error: unknown) => void = () => {}

  constructor(keys: readonly string[], work: Work<S, A>, locked: ((clock: Clock) => A) | null = null) {
    this.keys = keys
    this.work = work
    this.locked = locked
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  apply(
    states: States<S>,
    clock: Clock,
    rows: ReadonlyMap<string, unknown> = NO_ROWS,
  ): readonly KeyNotification[] {
    const { answer, notifications } = this.work(states, clock, rows)
    this.answer = answer
    return notifications
  }

  done(): void {
    this.resolve(this.answer as A)
  }

  served(answer: A): void {
    this.resolve(answer)
  }

  failed(error: unknown): void {
    this.reject(error)
  }

  blocked(clock: Clock, error: unknown): void {
    if (this.locked === null) this.reject(error)
    else this.resolve(this.locked(clock))
  }
}
