import type { Claim, Clock, KeyNotification } from '../../../model/index.ts'

/** Where a task finds the states it works on, and leaves what it made of them. */
export interface Shelf<S> {
  get(key: string): S
  put(key: string, state: S): void
}

export interface Played<A> {
  readonly answer: A
  readonly letters: readonly KeyNotification[]
}

type Work<S, A> = (shelf: Shelf<S>, clock: Clock, rows: ReadonlyMap<string, unknown>) => Played<A>

const NO_ROWS: ReadonlyMap<string, unknown> = new Map()

/** A task as whoever carries it out sees it. */
export interface Playable<S> {
  readonly keys: readonly string[]
  /** The claims that it is about, of locks. */
  readonly claims?: readonly Claim[]
  /** Whether it is about all claims of its keys. */
  readonly whole?: boolean
  /** `rows` is what was read. */
  play(shelf: Shelf<S>, clock: Clock, rows?: ReadonlyMap<string, unknown>): readonly KeyNotification[]
  /** What it did last is written. */
  done(): void
  failed(error: unknown): void
  /** Somebody's transaction keeps a row locked. */
  blocked(clock: Clock, error: unknown): void
}

/**
 * One step on one key, or on several that change together. It may be played more than once, each time on what was
 * just read; its promise is settled when what it did last is written.
 */
export class Task<S, A> implements Playable<S> {
  readonly keys: readonly string[]
  claims: readonly Claim[] = []
  whole = false
  readonly promise: Promise<A>
  private readonly work: Work<S, A>
  /** What it answers while somebody's transaction keeps a row locked; null when it can only fail then. */
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

  play(
    shelf: Shelf<S>,
    clock: Clock,
    rows: ReadonlyMap<string, unknown> = NO_ROWS,
  ): readonly KeyNotification[] {
    const { answer, letters } = this.work(shelf, clock, rows)
    this.answer = answer
    return letters
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
