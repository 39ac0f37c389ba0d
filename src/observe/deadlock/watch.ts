import type { Actors, ActorWatcher } from '../../core/reentry/actors.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import { ConflictError, type DeadlockStep, quote } from '../../errors.ts'
import { chase, type LockWorld, survey } from './look.ts'
import { LONG_WAIT_MS, type Sight } from './scene.ts'
import { type Deadlock, Suspicions } from './suspicion.ts'

/** The interval at which a blocked process publishes its note and looks around. */
const PACE_MS = 500

/** The watch's actions on its findings. */
export interface WatchActions {
  /** Publishes a note of the present state; removes it when no actor is blocked any more. */
  publish(): Promise<void>
  withdraw(): Promise<void>
  tell(cycle: readonly DeadlockStep[], victim: DeadlockStep | null): void
  /** The caller's name of the key. */
  shown(step: DeadlockStep): DeadlockStep
}

/** Detects deadlocks while an actor of this process waits for long and holds; otherwise it does nothing. */
export class DeadlockWatch implements ActorWatcher {
  private readonly actors: Actors
  private readonly runtime: Runtime
  private readonly world: LockWorld
  private readonly sight: Sight
  private readonly desk: WatchActions
  private readonly suspicions: Suspicions
  private readonly told = new Set<string>()
  private timer: Timer | null = null
  private round: Promise<void> | null = null
  private closed = false

  constructor(actors: Actors, runtime: Runtime, world: LockWorld, sight: Sight, desk: WatchActions) {
    this.actors = actors
    this.runtime = runtime
    this.world = world
    this.sight = sight
    this.desk = desk
    this.suspicions = new Suspicions(world, sight)
  }

  waiting(): void {
    if (this.timer === null && this.round === null) this.arm(LONG_WAIT_MS)
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
    this.timer = null
    await this.round
    await this.desk.withdraw().catch(() => {})
  }

  private arm(delayMs: number): void {
    if (this.closed) return
    this.timer = this.runtime.setTimer(
      () => {
        this.timer = null
        this.round = this.goRound().finally(() => {
          this.round = null
          if (this.actors.waiting) this.arm(PACE_MS)
        })
      },
      delayMs,
      true,
    )
  }

  /** Other events report a silent store; the next round tries again. */
  private async goRound(): Promise<void> {
    try {
      const own = this.world.own()
      if (own === null) {
        this.suspicions.clear()
        this.told.clear()
        await this.desk.withdraw()
        return
      }
      await this.desk.publish()
      const keys = own.waits.map((wait) => wait.key)
      const look = this.sight.notes ? await chase(this.world, keys) : await survey(this.world)
      for (const deadlock of await this.suspicions.judge(look)) this.act(deadlock)
    } catch {
      this.suspicions.clear()
    }
  }

  private act({ name, steps, waiters, victim }: Deadlock): void {
    const ours = waiters.filter(({ noted }) => noted?.process === this.actors.process)
    if (ours.length === 0 || this.told.has(name)) return
    this.told.add(name)
    const cycle = steps.map((step) => this.desk.shown(step))
    this.desk.tell(cycle, victim === null ? null : (cycle[victim] ?? null))
    const noted = victim === null ? null : waiters[victim]?.noted
    if (noted?.process !== this.actors.process) return
    const { waitsFor } = cycle[victim as number] as DeadlockStep
    this.actors.refuse(noted.id, new ConflictError(describe(cycle, waitsFor), null, cycle))
  }
}

/** The cycle in one sentence, for the error of the wait that was ended. */
function describe(cycle: readonly DeadlockStep[], key: string): string {
  const members = cycle.map((step) => {
    const holds = step.holds.length === 0 ? 'is in the queue' : `holds ${step.holds.map(quote).join(', ')}`
    return `${who(step)} ${holds} and waits for ${quote(step.waitsFor)}`
  })
  return `waiting for ${quote(key)} would never end, so it was given up: ${members.join('; ')}`
}

function who({ label, actor }: DeadlockStep): string {
  return actor === null ? label : `${label} (${actor})`
}
