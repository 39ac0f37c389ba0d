import type { LockEvents } from '../../core/events.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import type { Records } from '../../core/store.ts'
import { keyPattern } from '../patterns.ts'
import { type Habit, type Habits, newHabit, publish } from './habits.ts'
import { addTime } from './histogram.ts'

const EVERY_MS = 30_000
const MOST_PATTERNS = 100
/** A silent store must not delay the end of a process. */
const LONGEST_CLOSE_MS = 1000

/** A claim of the store, from its grant over every local handover to its release. */
interface Chain {
  readonly sinceMs: number
  lastToken: bigint
}

export interface Recorded {
  readonly records: Records
  readonly runtime: Runtime
  readonly prefix: string
  on<N extends keyof LockEvents>(event: N, listener: (event: LockEvents[N]) => void): () => void
}

/** Records how long keys are held, by pattern, and publishes it to the store at intervals. */
export class Recorder {
  private readonly locks: Recorded
  private readonly stops: readonly (() => void)[]
  private readonly chains = new Map<string, Chain>()
  private habits: Habits = {}
  private count = 0
  private timer: Timer

  constructor(locks: Recorded) {
    this.locks = locks
    this.timer = this.arm()
    this.stops = [
      locks.on('granted', (event) => this.granted(event)),
      locks.on('handedOver', ({ key, token }) => {
        const chain = this.chains.get(chainOf(key, token))
        if (chain !== undefined && token !== null) chain.lastToken = token
      }),
      locks.on('released', ({ key, token, heldMs, outcome }) =>
        this.ended(key, token, heldMs, outcome === 'expired'),
      ),
      locks.on('lost', ({ key, token, heldMs, cause }) => {
        if (cause !== 'closed') this.ended(key, token, heldMs, cause === 'expired' || cause === 'deadline')
      }),
    ]
  }

  async close(): Promise<void> {
    this.timer.clear()
    for (const stop of this.stops) stop()
    const { runtime } = this.locks
    let patience: Timer | undefined
    await Promise.race([
      this.publish(),
      new Promise<void>((resolve) => {
        patience = runtime.setTimer(resolve, LONGEST_CLOSE_MS, false)
      }),
    ])
    patience?.clear()
  }

  private arm(): Timer {
    const { runtime } = this.locks
    // Jitter: processes that started together do not write together.
    const delayMs = EVERY_MS * (0.75 + runtime.random() / 2)
    return runtime.setTimer(
      () => {
        this.timer = this.arm()
        void this.publish()
      },
      delayMs,
      true,
    )
  }

  private async publish(): Promise<void> {
    if (this.count === 0) return
    const { habits } = this
    this.habits = {}
    this.count = 0
    // The outcome of a write without an answer is unknown: writing again could count it twice, and a gap does no harm.
    await publish(this.locks.records, habits).catch(() => {})
  }

  private granted({ key, token, handedOver, ttlMs }: LockEvents['granted']): void {
    const habit = this.of(key)
    if (habit === null) return
    habit.ttlMs = Math.max(habit.ttlMs, ttlMs)
    if (!handedOver)
      this.chains.set(chainOf(key, token), { sinceMs: this.locks.runtime.nowMs(), lastToken: token ?? 0n })
  }

  private ended(key: string, token: bigint | null, heldMs: number, expired: boolean): void {
    const name = chainOf(key, token)
    const chain = this.chains.get(name)
    const goesOn = chain !== undefined && token !== null && chain.lastToken > token
    if (!goesOn) this.chains.delete(name)
    const habit = this.of(key)
    if (habit === null) return
    this.count++
    addTime(habit.work, heldMs)
    habit.atMs = this.locks.runtime.wallMs()
    if (expired) habit.expired++
    if (chain !== undefined && !goesOn) addTime(habit.closed, this.locks.runtime.nowMs() - chain.sinceMs)
  }

  private of(key: string): Habit | null {
    const pattern = keyPattern(this.locks.prefix + key)
    const known = this.habits[pattern]
    if (known !== undefined) return known
    if (Object.keys(this.habits).length >= MOST_PATTERNS) return null
    const habit = newHabit()
    this.habits[pattern] = habit
    return habit
  }
}

/** All local handovers of one grant have the same high part of their tokens. */
function chainOf(key: string, token: bigint | null): string {
  return `${token === null ? '' : token >> 8n} ${key}`
}
