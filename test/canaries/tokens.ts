import type {
  Answer,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  StepOutcome,
} from '../../src/model/index.ts'
import { type Canary, leaving } from './canary.ts'
import { World } from './world.ts'

type Result<E extends Event> = StepOutcome<Answer<E>>

/** Tokens counted from one, as a store does that has a counter and no clock. */
class CountingWorld extends World {
  protected override clock(): Clock {
    return { ...super.clock(), stampUs: 1 }
  }
}

/** Diseases of the fence: tokens that do not rise. */
export const tokens: readonly Canary[] = [
  {
    disease: 'a token comes again when the key was free meanwhile',
    topic: 'fencing',
    World: class extends CountingWorld {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        return super.step(state.holds.length === 0 ? { ...state, seq: 0 } : state, event, clock)
      }
    },
  },
  {
    disease: 'an eviction forgets the fence',
    topic: 'fencing',
    World: class extends CountingWorld {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        return event.kind === 'evict' && state.holds.length > 0
          ? leaving(outcome, () => ({ seq: 0 }))
          : outcome
      }
    },
  },
  {
    disease: 'an adoption keeps the token',
    topic: 'adoption',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        const token = state.holds[0] === undefined ? null : BigInt(state.holds[0].seq) * 256n
        if (event.kind !== 'claim' || event.claim.replaces === null || token === null) return outcome
        const kept = leaving(outcome, ({ holds }) => ({
          holds: holds.map((hold) => ({ ...hold, seq: state.seq })),
        }))
        return { ...kept, answer: { ...(outcome.answer as object), token } as Answer<E> }
      }
    },
  },
  {
    disease: 'a hold that several share gives tokens away',
    topic: 're-entry',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        const answer = super.claim(claim, inbox)
        return answer.kind === 'granted' ? { ...answer, spare: 255 } : answer
      }
    },
  },
]
