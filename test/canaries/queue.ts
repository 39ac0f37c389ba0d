import type {
  Answer,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  Notification,
  StepOutcome,
} from '../../src/model/index.ts'
import { type Canary, holdOf, leaving } from './canary.ts'
import { World } from './world.ts'

type Result<E extends Event> = StepOutcome<Answer<E>>

/** Diseases of the queue: the order, and the notifications. */
export const queue: readonly Canary[] = [
  {
    disease: 'a dead waiter blocks the queue',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const waiters = state.queue.map((waiter) => ({ ...waiter, expiresAtMs: clock.nowMs + 60_000 }))
        return super.step({ ...state, queue: waiters }, event, clock)
      }
    },
  },
  {
    disease: 'a waiter is not woken',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override deliver(key: string, notification: Notification): void {
        if (notification.notice.kind !== 'granted') super.deliver(key, notification)
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
    disease: 'a waiter that asks again goes to the end of the queue',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'claim' || state.holds.length === 0) return super.step(state, event, clock)
        const others = state.queue.filter((waiter) => waiter.claim.id !== event.claim.id)
        return super.step({ ...state, queue: others }, event, clock)
      }
    },
  },
  {
    disease: 'the last to come is the first to be served',
    topic: 'waiting and fairness',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'release') return super.step(state, event, clock)
        const outcome = super.step({ ...state, queue: [...state.queue].reverse() }, event, clock)
        return leaving(outcome, (left) => ({ queue: [...left.queue].reverse() }))
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

      protected override deliver(key: string, notification: Notification): void {
        if (notification.notice.kind !== 'contended') super.deliver(key, notification)
      }
    },
  },
  {
    disease: 'a claim that does not queue joins the queue',
    topic: 'exclusion',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        return super.claim({ ...claim, queue: true }, inbox)
      }
    },
  },
  {
    disease: 'a release forgets to roll back a queue position',
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
