import type { Store } from 'holdfast'
import type { RenewReply } from '../../src/core/store.ts'
import type {
  Answer,
  Claim,
  ClaimAnswer,
  Clock,
  Event,
  KeyState,
  StepOutcome,
} from '../../src/model/index.ts'
import { type Canary, holdOf, leaving } from './canary.ts'
import { World } from './world.ts'

type Result<E extends Event> = StepOutcome<Answer<E>>

/** Diseases of holds: who has the key, for how long, and who may end it. */
export const holds: readonly Canary[] = [
  {
    disease: 'a release deletes blindly, whoever holds the key',
    topic: 'stale release',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'release' || holdOf(state, event.id)) return super.step(state, event, clock)
        const id = state.holds[0]?.members[0]?.id ?? event.id
        return super.step(state, { ...event, id }, clock)
      }
    },
  },
  {
    disease: 'a takeover keeps the old owner',
    topic: 'takeover',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        const dead = state.holds[0]?.members.find((member) => member.expiresAtMs <= clock.nowMs)
        if (event.kind !== 'claim' || dead === undefined) return outcome
        return leaving(outcome, ({ holds }) => ({
          holds: holds.map((hold) => ({
            ...hold,
            members: hold.members.map((member) => ({ ...member, id: dead.id })),
          })),
        }))
      }
    },
  },
  {
    disease: 'a renewal creates what is gone',
    topic: 'renewal',
    World: class extends World {
      override open(): Store {
        const store = super.open()
        const renew = async (claims: readonly Claim[]): Promise<readonly RenewReply[]> => {
          await store.attempt(claims.map((claim) => ({ ...claim, queue: false })))
          return store.renew(claims)
        }
        return { ...store, renew }
      }
    },
  },
  {
    disease: 'a renewal shortens',
    topic: 'renewal',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        if (event.kind !== 'renew') return outcome
        const expiresAtMs = clock.nowMs + event.ttlMs
        return leaving(outcome, ({ holds }) => ({
          holds: holds.map((hold) => ({
            ...hold,
            members: hold.members.map((member) =>
              member.id === event.id ? { ...member, expiresAtMs } : member,
            ),
          })),
        }))
      }
    },
  },
  {
    disease: 'a resent claim is granted a second hold',
    topic: 'unknown outcomes',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const own = event.kind === 'claim' ? holdOf(state, event.claim.id) : undefined
        if (own === undefined) return super.step(state, event, clock)
        const others = state.holds.filter((hold) => hold !== own)
        const outcome = super.step({ ...state, holds: others }, event, clock)
        return leaving(outcome, ({ holds }) => ({ holds: [own, ...holds] }))
      }
    },
  },
  {
    disease: 'a resent claim keeps its old expiry',
    topic: 'unknown outcomes',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const own = event.kind === 'claim' ? holdOf(state, event.claim.id) : undefined
        const outcome = super.step(state, event, clock)
        return own === undefined ? outcome : leaving(outcome, () => ({ holds: state.holds }))
      }
    },
  },
  {
    disease: 'a hold never expires',
    topic: 'expiry',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const immortal = (hold: KeyState['holds'][number]) => ({
          ...hold,
          members: hold.members.map((member) => ({ ...member, expiresAtMs: clock.nowMs + 60_000 })),
        })
        return super.step({ ...state, holds: state.holds.map(immortal) }, event, clock)
      }
    },
  },
  {
    disease: 'a ttl is cut to whole seconds',
    topic: 'expiry',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        return super.claim({ ...claim, ttlMs: Math.floor(claim.ttlMs / 1000) * 1000 }, inbox)
      }
    },
  },
  {
    disease: 'a lock delay follows a release too',
    topic: 'expiry',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        if (event.kind !== 'release') return outcome
        const member = holdOf(state, event.id)?.members.find((member) => member.id === event.id)
        const delayMs = member?.lockDelayMs ?? 0
        return delayMs === 0 ? outcome : leaving(outcome, () => ({ closedUntilMs: clock.nowMs + delayMs }))
      }
    },
  },
  {
    disease: 'claims that arrive together all find the key free',
    topic: 'exclusion',
    World: class extends World {
      private readonly seen = new Map<string, KeyState>()

      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        const before = this.seen.get(claim.key) ?? this.stateOf(claim.key)
        if (!this.seen.has(claim.key)) queueMicrotask(() => this.seen.delete(claim.key))
        this.seen.set(claim.key, before)
        this.states.set(claim.key, before)
        return super.claim(claim, inbox)
      }
    },
  },
  {
    disease: 'a connection counts as an owner',
    topic: 'exclusion',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        return super.claim({ ...claim, owner: claim.owner ?? inbox }, inbox)
      }
    },
  },
  {
    disease: 'an owner’s hold ends with its first release',
    topic: 're-entry',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const own = event.kind === 'release' ? holdOf(state, event.id) : undefined
        if (own === undefined || event.kind !== 'release') return super.step(state, event, clock)
        const members = own.members.filter((member) => member.id === event.id)
        return super.step(
          { ...state, holds: state.holds.map((hold) => (hold === own ? { ...own, members } : hold)) },
          event,
          clock,
        )
      }
    },
  },
  {
    disease: 'an adopted hold still belongs to its giver',
    topic: 'adoption',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const outcome = super.step(state, event, clock)
        if (event.kind !== 'claim' || event.claim.replaces === null) return outcome
        const given = holdOf(state, event.claim.replaces)
        return given === undefined ? outcome : leaving(outcome, ({ holds }) => ({ holds: [...holds, given] }))
      }
    },
  },
]
