import type { Runtime } from '../../core/runtime.ts'
import type { DeadlockStep } from '../../errors.ts'
import { byLabel } from './labels.ts'
import { chase, type LockWorld, survey, type WorldView } from './look.ts'
import { NOTE_TTL_MS } from './note.ts'
import type { Sight } from './scene.ts'
import { type Deadlock, Suspicions } from './suspicion.ts'

/** The interval and number of the further looks at a cycle: a dead process's note is gone by then. */
const PATIENCE_MS = NOTE_TTL_MS
const AGAIN_MS = 250
/** Tasks of busy processes seem to wait for each other for a moment: only a cycle that does not move for so long is likely. */
const LIKELY_MS = 3000

/** Each cycle with the keys of the store. */
export interface FoundCycles {
  /** These actors wait for each other for ever. */
  readonly proven: readonly (readonly DeadlockStep[])[]
  /** These processes wait for each other, and at least one does not publish, or not again, which of its tasks waits. */
  readonly likely: readonly (readonly DeadlockStep[])[]
}

interface Reading {
  readonly read: (look: WorldView) => WorldView
  /** How long a wait that only a queue shows must go on after it was seen. */
  readonly laterMs?: number
}

const PLAIN: Reading = { read: (look) => look }

interface Verdict {
  readonly certain: readonly Deadlock[]
  readonly unconfirmed: readonly Deadlock[]
}

const NOTHING: Verdict = { certain: [], unconfirmed: [] }

/** The cycles that the notes of processes and named actors prove. */
export async function provenCycles(
  world: LockWorld,
  sight: Sight,
  runtime: Runtime,
): Promise<FoundCycles['proven']> {
  const [plain = NOTHING] = await search(world, sight, runtime, [PLAIN])
  return plain.certain.map(({ steps }) => steps)
}

/** These cycles, and those that appear when everything under one label counts as one actor. */
export async function allCycles(world: LockWorld, sight: Sight, runtime: Runtime): Promise<FoundCycles> {
  const labelled = byLabel(sight)
  const readings = [PLAIN, { read: labelled.read, laterMs: LIKELY_MS }]
  const [plain = NOTHING, other = NOTHING] = await search(world, sight, runtime, readings)
  const unnamed = other.certain.filter(({ steps }) => labelled.isUnproven(steps))
  return {
    proven: plain.certain.map(({ steps }) => steps),
    likely: [...plain.unconfirmed, ...unnamed].map(({ steps }) => labelled.shown(steps)),
  }
}

/** Looks again until every cycle of the first look is certain or gone. One verdict for each reading. */
async function search(
  world: LockWorld,
  sight: Sight,
  runtime: Runtime,
  readings: readonly Reading[],
): Promise<readonly Verdict[]> {
  const judges = readings.map(({ read, laterMs }) => ({
    read,
    suspicions: new Suspicions(world, sight, laterMs),
  }))
  let look = await survey(world)
  for (const { read, suspicions } of judges) await suspicions.judge(read(look))
  const untilMs = world.nowMs() + PATIENCE_MS
  for (;;) {
    if (judges.every(({ suspicions }) => suspicions.size === 0)) return judges.map(() => NOTHING)
    await new Promise<void>((resolve) => void runtime.setTimer(resolve, AGAIN_MS, false))
    const keys = judges.flatMap(({ read, suspicions }) => suspicions.keysOf(read(look)))
    look = await chase(world, keys)
    const verdicts: Verdict[] = []
    for (const { read, suspicions } of judges) {
      const seen = read(look)
      verdicts.push({ certain: await suspicions.judge(seen), unconfirmed: suspicions.unconfirmed(seen) })
    }
    const isDecided = judges.every(({ suspicions }, at) => verdicts[at]?.certain.length === suspicions.size)
    if (isDecided || world.nowMs() >= untilMs) return verdicts
  }
}
