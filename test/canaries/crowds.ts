import type { Store } from 'holdfast'
import type { Answer, Clock, Event, KeyState, StepOutcome } from '../../src/model/index.ts'
import { type Canary, leaving } from './canary.ts'
import { World } from './world.ts'

type Result<E extends Event> = StepOutcome<Answer<E>>

/** These stores are right with a few claims, and wrong with more. */
const MANY = 100
const MANY_IN_A_CALL = 40

/** Diseases that only a crowd brings about. */
export const crowds: readonly Canary[] = [
  {
    disease: 'a long queue loses those who join it',
    topic: 'crowds',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        return leaving(super.step(state, event, clock), ({ queue }) => ({ queue: queue.slice(0, MANY) }))
      }
    },
  },
  {
    disease: 'a long queue is served from its middle',
    topic: 'crowds',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const queue = [...state.queue.slice(MANY), ...state.queue.slice(0, MANY)]
        return super.step(event.kind === 'release' ? { ...state, queue } : state, event, clock)
      }
    },
  },
  {
    disease: 'a renewal of many claims leaves the last of them out',
    topic: 'crowds',
    World: class extends World {
      override open(): Store {
        const store = super.open()
        return {
          ...store,
          renew: async (claims) => {
            const answers = await store.renew(claims.slice(0, MANY_IN_A_CALL))
            return claims.map((_, place) => answers[place] ?? (answers[0] as (typeof answers)[number]))
          },
        }
      }
    },
  },
  {
    disease: 'a release before a long queue counts no holders',
    topic: 'crowds',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        if (event.kind !== 'release' || state.queue.length < MANY) return outcome
        const { holds } = outcome.state
        const more = super.step({ ...outcome.state, holds: [] }, { kind: 'tick' }, clock).state
        return leaving(outcome, () => ({ ...more, holds: [...holds, ...more.holds] }))
      }
    },
  },
]
