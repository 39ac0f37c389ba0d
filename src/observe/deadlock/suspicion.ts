import type { DeadlockStep } from '../../errors.ts'
import { type Cycle, cycleId, cyclesIn, isStillIn } from './cycles.ts'
import { stuckIn } from './graph.ts'
import type { LockWorld, WorldView } from './look.ts'
import { type SceneWaiter, type Sight, sceneOf, type WaitScene } from './scene.ts'

/** A cycle that really existed, at one moment, as a whole. */
export interface Deadlock {
  readonly name: string
  readonly steps: readonly DeadlockStep[]
  readonly waiters: readonly SceneWaiter[]
  /** The wait to end: its index in `waiters`, the same for all observers. Null if no wait may be ended. */
  readonly victim: number | null
}

interface Suspicion {
  readonly cycle: Cycle
  readonly name: string
  /** The note counters of other processes after the cycle was seen. */
  readonly counts: ReadonlyMap<string, number>
  readonly waitedMs: ReadonlyMap<string, number>
  readonly seenMs: number
}

/** After two publications at least one was written after our first look: the one in between may have been on its way. */
const LATER_NOTES = 2
/** How long a wait that only a queue shows must go on after it was seen. */
const LATER_MS = 500
const ROUGHLY_MS = 50

/**
 * Views and notes are read one after another, so a cycle in them may never have existed. It did if every wait and hold in
 * it was there before the end of one look, and the same ones were still there after it.
 */
export class Suspicions {
  private readonly world: LockWorld
  private readonly sight: Sight
  private readonly laterMs: number
  private readonly open = new Map<string, Suspicion>()

  constructor(world: LockWorld, sight: Sight, laterMs = LATER_MS) {
    this.world = world
    this.sight = sight
    this.laterMs = laterMs
  }

  get size(): number {
    return this.open.size
  }

  clear(): void {
    this.open.clear()
  }

  /** The keys to look at again. */
  keysOf(look: WorldView): string[] {
    const { waiters } = sceneOf(look, this.sight)
    const links = [...this.open.values()].flatMap(({ cycle }) => cycle)
    return links.flatMap(({ from }) => waiters.get(from)?.key ?? [])
  }

  /** Adds one more look, and returns the cycles that are certain now. */
  async judge(look: WorldView): Promise<Deadlock[]> {
    const scene = sceneOf(look, this.sight)
    const stuck = stuckIn(scene.graph)
    const certain: Deadlock[] = []
    for (const suspicion of this.open.values()) {
      if (!isStillIn(stuck, suspicion.cycle)) this.open.delete(suspicion.name)
      else if (this.isCertain(suspicion, look, scene)) certain.push(this.deadlockOf(suspicion, scene))
    }
    for (const cycle of cyclesIn(stuck)) {
      const name = cycleId(cycle)
      if (!this.open.has(name)) this.open.set(name, await this.suspicionOf(name, cycle, scene))
    }
    return certain
  }

  /** Cycles that are still there after a while, although not all of their processes have published again. */
  unconfirmed(look: WorldView): Deadlock[] {
    const scene = sceneOf(look, this.sight)
    return [...this.open.values()]
      .filter(({ seenMs }) => look.beganMs - seenMs >= this.laterMs)
      .filter((suspicion) => !this.isCertain(suspicion, look, scene))
      .map((suspicion) => this.deadlockOf(suspicion, scene))
  }

  private async suspicionOf(name: string, cycle: Cycle, { waiters }: WaitScene): Promise<Suspicion> {
    const counts = new Map<string, number>()
    const waitedMs = new Map<string, number>()
    const own = this.world.own()?.process
    for (const { from } of cycle) {
      const waiter = waiters.get(from)
      if (waiter?.noted == null) waitedMs.set(from, waiter?.waitedMs ?? 0)
      else if (waiter.noted.process !== own) counts.set(waiter.noted.process, Number.POSITIVE_INFINITY)
    }
    for (const process of counts.keys()) {
      const note = await this.world.note(process)
      if (note !== null) counts.set(process, note.count)
    }
    return { cycle, name, counts, waitedMs, seenMs: this.world.nowMs() }
  }

  private isCertain(
    { counts, waitedMs, seenMs }: Suspicion,
    look: WorldView,
    { waiters }: WaitScene,
  ): boolean {
    for (const [process, count] of counts)
      if ((look.notes.get(process)?.count ?? 0) < count + LATER_NOTES) return false
    const laterMs = look.beganMs - seenMs
    if (waitedMs.size > 0 && laterMs < this.laterMs) return false
    for (const [id, before] of waitedMs)
      if ((waiters.get(id)?.waitedMs ?? 0) < before + laterMs - ROUGHLY_MS) return false
    return true
  }

  private deadlockOf({ cycle, name }: Suspicion, { waiters, heldMs }: WaitScene): Deadlock {
    const members = cycle.map(({ from }) => waiters.get(from) as SceneWaiter)
    const steps = members.map(({ actor, label, key, waitedMs, holds }, index): DeadlockStep => {
      const before = cycle.at(index - 1)?.hold ?? null
      const held = before === null ? null : (heldMs.get(before) ?? null)
      return { actor, label, waitsFor: key, waitedMs, holds, heldMs: held }
    })
    // Without notes it is unknown which wait the others would choose.
    const agreed = this.sight.notes || members.every(({ noted }) => noted !== null)
    return { name, steps, waiters: members, victim: agreed ? victimAmong(members) : null }
  }
}

/** The youngest wait, by its published begin: every process compares the same numbers. */
function victimAmong(waiters: readonly SceneWaiter[]): number | null {
  let victim: number | null = null
  for (const [index, waiter] of waiters.entries()) {
    if (!waiter.abort || waiter.noted === null) continue
    const best = victim === null ? null : (waiters[victim]?.noted ?? null)
    if (best === null || isYounger(waiter.noted, best)) victim = index
  }
  return victim
}

type Noted = NonNullable<SceneWaiter['noted']>

function isYounger(one: Noted, other: Noted): boolean {
  if (one.sinceMs !== other.sinceMs) return one.sinceMs > other.sinceMs
  if (one.process !== other.process) return one.process > other.process
  return one.id > other.id
}
