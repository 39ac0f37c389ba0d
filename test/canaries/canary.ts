import type { Runtime } from 'holdfast'
import type { Topic } from 'holdfast/testing'
import type { Answer, Event, Hold, KeyState, StepOutcome } from '../../src/model/index.ts'
import type { World } from './world.ts'

/** A store with one disease, and the topic under which the suite must find it. */
export interface Canary {
  readonly disease: string
  readonly topic: Topic
  readonly World: new (runtime: Runtime) => World
}

/** The hold that `id` is part of. */
export function holdOf(state: KeyState, id: string): Hold | undefined {
  return state.holds.find((hold) => hold.members.some((member) => member.id === id))
}

/** Changes the state that a step leaves behind. */
export function leaving<E extends Event>(
  outcome: StepOutcome<Answer<E>>,
  change: (state: KeyState) => Partial<KeyState>,
): StepOutcome<Answer<E>> {
  return { ...outcome, state: { ...outcome.state, ...change(outcome.state) } }
}
