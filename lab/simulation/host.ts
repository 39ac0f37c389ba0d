import type { Runtime, Timer } from '../../src/core/runtime.ts'
import { SkewedClock } from './clock.ts'
import type { Scheduled } from './heap.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** The wall clock of every host when the world begins: some time in 2026. */
export const WALL_START_MS = 1_780_000_000_000

/** A lease is renewed, and so looked at, every third of its ttl; the longest ttl of a plan is 7 s. */
const LONGEST_UNNOTICED_MS = 2_500

/** A process: its clock, and whether it runs, stands still or is dead. */
export class Host {
  readonly name: string
  readonly clock: SkewedClock
  readonly random: Random
  wallJumpMs = 0
  alive = true
  /** How often this host stood still so far. */
  pauses = 0
  private readonly world: World
  private pausedUntilUs = -1
  private wokeAtUs = Number.NEGATIVE_INFINITY
  private ids = 0

  constructor(world: World, name: string, skewPpm: number, offsetUs: number, random: Random) {
    this.world = world
    this.name = name
    this.random = random
    this.clock = new SkewedClock(world, skewPpm, offsetUs)
  }

  /** Input during a pause waits for its end, as in a kernel's buffers; the clock goes on. */
  pause(untilUs: number): void {
    this.pauses++
    this.pausedUntilUs = Math.max(this.pausedUntilUs, untilUs)
  }

  /** A suspended machine: a pause during which the monotonic clock stands still and the wall clock goes on. */
  suspend(untilUs: number, onWake: () => void): void {
    if (this.clock.asleep) return
    this.clock.fallAsleep()
    this.pause(untilUs)
    this.world.schedule(
      untilUs,
      () => {
        this.clock.wakeUp()
        this.wokeAtUs = this.world.nowUs
        onWake()
      },
      false,
    )
  }

  kill(): void {
    this.alive = false
  }

  /** After a sleep, a signal fires with the first look at the clock: when the lease is asked, or with its next timer. */
  get justWoke(): boolean {
    return this.world.nowUs - this.wokeAtUs < LONGEST_UNNOTICED_MS * 1000
  }

  /** Still true in the moment of waking up, because what was held back then runs one by one. */
  get paused(): boolean {
    return this.world.nowUs <= this.pausedUntilUs
  }

  /** Runs a piece of this process's code as soon as the process can. */
  enter(task: () => void): void {
    if (!this.alive) return
    if (this.world.nowUs < this.pausedUntilUs) {
      this.world.schedule(this.pausedUntilUs, () => this.enter(task), false)
      return
    }
    task()
  }

  after(delayMs: number, task: () => void): Scheduled {
    const dueMs = this.clock.nowMs() + Math.max(0, Math.ceil(delayMs))
    // A sleep in between makes the timer late: its clock stood still.
    const ring = (): void => {
      if (first.cancelled) return
      if (this.clock.nowMs() >= dueMs) task()
      else this.world.schedule(this.clock.trueUsOf(dueMs), () => this.enter(ring), false)
    }
    const first = this.world.schedule(this.clock.trueUsOf(dueMs), () => this.enter(ring), false)
    return first
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve)
    })
  }

  nextId(): string {
    return `${this.name}#${++this.ids}`
  }
}

/** The door of one `Locks` object to its host's time and chance; it counts the timers that are left. */
export class HostRuntime implements Runtime {
  readonly pending = new Set<Timer>()
  private readonly host: Host

  constructor(host: Host) {
    this.host = host
  }

  nowMs(): number {
    return this.host.clock.nowMs()
  }

  wallMs(): number {
    const { clock, wallJumpMs } = this.host
    return WALL_START_MS + clock.nowMs() + Math.floor(clock.sleptUs / 1000) + wallJumpMs
  }

  setTimer(task: () => void, delayMs: number): Timer {
    if (Number.isNaN(delayMs)) throw new Error('a timer needs a number')
    const event = this.host.after(delayMs, () => {
      // A pause may lie between the moment the timer was due and this one.
      if (event.cancelled) return
      this.pending.delete(timer)
      task()
    })
    const timer = {
      clear: () => {
        event.cancelled = true
        this.pending.delete(timer)
      },
      keepAlive: () => {},
    }
    this.pending.add(timer)
    return timer
  }

  defer(task: () => void): void {
    queueMicrotask(task)
  }

  random(): number {
    return this.host.random.fraction()
  }

  newId(): string {
    return this.host.nextId()
  }
}
