import assert from 'node:assert/strict'
import type { Runtime } from '../../core/runtime.ts'
import type { Store, Traits } from '../../core/store.ts'
import { LeaseLostError, LockTimeoutError } from '../../errors.ts'
import { createLocks, type Locks, type LocksOptions } from '../../index.ts'
import type { KeyView } from '../../model/index.ts'
import { type FaultyStore, faulty } from '../faulty.ts'
import { Party } from './party.ts'
import type { ConformanceTarget, FaultHooks } from './target.ts'

const POLL_MS = 10
/** The ttl of a lease that must survive: long enough to be renewed in time on a busy machine. */
export const SURVIVING_TTL_MS = 3000
/** A bound for events without delay, on a busy machine too, well below a ttl of a minute. */
export const SOON_MS = 5000
/** The longest delay of an observer on a busy machine. */
const LATE_LOOK_MS = 2000

/** Two holders of an exclusive key: wrong at any time, however slow the machine. */
export class SafetyError extends assert.AssertionError {
  constructor(message: string) {
    super({ message })
    this.name = 'SafetyError'
  }
}

export function safe(condition: boolean, message: string): asserts condition {
  if (!condition) throw new SafetyError(message)
}

/** A stall of the machine may cost a lease, which is not the store's fault: only a held lease counts. */
export function forgiveLoss(error: unknown): void {
  if (!(error instanceof LeaseLostError)) throw error
}

/** The environment of one case. Everything opened through it is closed when the case ends. */
export class Scene {
  readonly traits: Traits
  readonly runtime: Runtime
  readonly hooks: FaultHooks
  /** The longest delay of the server for effects of time alone. */
  readonly slackMs: number
  /** The verdict depends on time, so that a process which stands still cannot give one. */
  timed = false
  private readonly target: ConformanceTarget
  private readonly endings: (() => unknown)[] = []
  private parties = 0

  constructor(target: ConformanceTarget, runtime: Runtime, traits: Traits) {
    this.target = target
    this.runtime = runtime
    this.traits = traits
    this.hooks = target.faults ?? {}
    this.slackMs = target.slackMs ?? 1000
  }

  /** A key that no other case uses. */
  key(suffix = ''): string {
    return `conformance:${this.runtime.newId()}:${suffix}`
  }

  /** Such keys with a common hash tag, for cases that a sharded store can only do in one shard. */
  kin(...suffixes: readonly string[]): string[] {
    const tag = this.runtime.newId()
    return suffixes.map((suffix) => `conformance:{${tag}}:${suffix}`)
  }

  /** A ttl that the store keeps exactly: `ms` rounded up to the store's step. */
  ttlMs(ms: number): number {
    this.timed = true
    const { ttlStepMs } = this.traits
    return Math.ceil(ms / ttlStepMs) * ttlStepMs
  }

  /** Waits until a life of `ttlMs` from now is over and has been seen to be. */
  endedByMs(ttlMs: number): number {
    return ttlMs + this.slackMs + LATE_LOOK_MS
  }

  /** A process that uses the contract, on a connection of its own. */
  async party(label = `party ${++this.parties}`): Promise<Party> {
    const store = await this.open()
    this.onEnd(() => store.close())
    return new Party(store, label, this)
  }

  /** A process that uses the facade, on a connection of its own. */
  async locks(options: LocksOptions = {}): Promise<Locks> {
    return this.locksOn(await this.open(), options)
  }

  /** The same, on a connection with scripted faults. */
  async faultyLocks(options: LocksOptions = {}): Promise<{ locks: Locks; faults: FaultyStore['faults'] }> {
    const store = faulty(await this.open(), this.runtime)
    const locks = this.locksOn(store, options)
    this.onEnd(() => store.faults.heal())
    return { locks, faults: store.faults }
  }

  locksOn(store: Store, options: LocksOptions = {}): Locks {
    const label = `process ${++this.parties}`
    const locks = createLocks({ store, runtime: this.runtime, label, ttl: 60_000, wait: 10_000, ...options })
    this.onEnd(() => locks.close())
    return locks
  }

  async open(): Promise<Store> {
    return this.target.open()
  }

  sleep(ms: number): Promise<void> {
    this.timed = true
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, ms, false)
    })
  }

  /** A wait ends while another holds the key: as a time-out, because the store answered in that time. */
  timesOut(waiting: Promise<unknown>): Promise<void> {
    this.timed = true
    return assert.rejects(waiting, LockTimeoutError)
  }

  /** For a promise that is awaited later: if the case fails in between, its rejection must not be unhandled. */
  begin<T>(promise: Promise<T>): Promise<T> {
    promise.catch(() => {})
    return promise
  }

  /** Polls until `look` returns something other than false, null or undefined. */
  async eventually<T>(why: string, withinMs: number, look: () => Promise<T> | T): Promise<NonNullable<T>> {
    this.timed = true
    const giveUpAtMs = this.runtime.nowMs() + withinMs
    for (;;) {
      const found = await look()
      if (found !== false && found !== null && found !== undefined) return found
      assert.ok(this.runtime.nowMs() < giveUpAtMs, `${why}: not within ${withinMs} ms`)
      await this.sleep(POLL_MS)
    }
  }

  /** Settles like `promise`, or rejects if that takes too long. */
  async within<T>(why: string, limitMs: number, promise: Promise<T>): Promise<T> {
    let timer: { clear(): void } | undefined
    const late = new Promise<never>((_, reject) => {
      const give = () => reject(new assert.AssertionError({ message: `${why}: not within ${limitMs} ms` }))
      timer = this.runtime.setTimer(give, limitMs, false)
    })
    try {
      return await Promise.race([promise, late])
    } finally {
      timer?.clear()
    }
  }

  /** The store's view of the keys that begin with `prefix`. */
  async list(store: Store, prefix: string): Promise<KeyView[]> {
    const views: KeyView[] = []
    for await (const view of store.admin.list(prefix)) views.push(view)
    return views
  }

  /** Runs when the case ends, the latest first. */
  onEnd(task: () => unknown): void {
    this.endings.push(task)
  }

  /** Closes everything opened. A failure to close does not hide the failure of the case; it fails one that passed. */
  async end(): Promise<void> {
    const errors: unknown[] = []
    for (const task of this.endings.reverse()) {
      try {
        await task()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
