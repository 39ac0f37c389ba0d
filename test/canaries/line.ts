import type {
  Answer,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  Letter,
  Outcome,
} from '../../src/model/index.ts'
import { type Canary, holdOf, leaving } from './canary.ts'
import { World } from './world.ts'

type Result<E extends Event> = Outcome<Answer<E>>

/** Diseases of the line: who is next, and who is told. */
export const line: readonly Canary[] = [
  {
    disease: 'a dead waiter blocks the line',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const waiters = state.line.map((waiter) => ({ ...waiter, expiresAtMs: clock.nowMs + 60_000 }))
        return super.step({ ...state, line: waiters }, event, clock)
      }
    },
  },
  {
    disease: 'a waiter is not woken',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override deliver(key: string, letter: Letter): void {
        if (letter.notice.kind !== 'granted') super.deliver(key, letter)
      }
    },
  },
  {
    disease: 'an offer is kept as a full lease',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override rules = {
        offerMs: Number.POSITIVE_INFINITY,
        keepSeqMs: 86_400_000,
        mostOffers: Number.POSITIVE_INFINITY,
      }
    },
  },
  {
    disease: 'a waiter that asks again goes to the end of the line',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'claim' || state.holds.length === 0) return super.step(state, event, clock)
        const others = state.line.filter((waiter) => waiter.claim.id !== event.claim.id)
        return super.step({ ...state, line: others }, event, clock)
      }
    },
  },
  {
    disease: 'the last to come is the first to be served',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'release') return super.step(state, event, clock)
        const outcome = super.step({ ...state, line: [...state.line].reverse() }, event, clock)
        return leaving(outcome, (left) => ({ line: [...left.line].reverse() }))
      }
    },
  },
  {
    disease: 'nobody hears that others wait',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        if (outcome.answer === null || !('contended' in outcome.answer)) return outcome
        return { ...outcome, answer: { ...outcome.answer, contended: false } }
      }

      protected override deliver(key: string, letter: Letter): void {
        if (letter.notice.kind !== 'contended') super.deliver(key, letter)
      }
    },
  },
  {
    disease: 'a claim that does not queue joins the line',
    topic: 'exclusion',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        return super.claim({ ...claim, queue: true }, inbox)
      }
    },
  },
  {
    disease: 'a release forgets to roll back a place in the line',
    topic: 'unknown outcomes',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'release' || holdOf(state, event.id)) return super.step(state, event, clock)
        return { ...super.step(state, { kind: 'tick' }, clock), answer: { kind: 'absent' } as Answer<E> }
      }
    },
  },
  {
    disease: 'a release forgets to roll back a grant that its waiter had not seen',
    topic: 'cancel while waiting',
    World: class extends World {
      private readonly confirmed = new Set<string>()

      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind === 'release' && holdOf(state, event.id) && !this.confirmed.has(event.id)) {
          return { ...super.step(state, { kind: 'tick' }, clock), answer: { kind: 'absent' } as Answer<E> }
        }
        const outcome = super.step(state, event, clock)
        const id = event.kind === 'claim' ? event.claim.id : event.kind === 'renew' ? event.id : null
        if (id !== null && holdOf(outcome.state, id)) this.confirmed.add(id)
        return outcome
      }
    },
  },
]
