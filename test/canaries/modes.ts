import { posix } from 'node:path'
import type { Store } from 'holdfast'
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

/** Diseases of modes, of groups and of keys: what is granted beside what. */
export const modes: readonly Canary[] = [
  {
    disease: 'a semaphore admits one too many',
    topic: 'modes',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        const { mode } = claim
        return super.claim(
          mode.kind === 'permits' ? { ...claim, mode: { ...mode, limit: mode.limit + 1 } } : claim,
          inbox,
        )
      }
    },
  },
  {
    disease: 'weights are not counted',
    topic: 'modes',
    World: class extends World {
      protected override claim(claim: Claim, inbox: string): ClaimAnswer {
        const { mode } = claim
        return super.claim(
          mode.kind === 'permits' ? { ...claim, mode: { ...mode, weight: 1 } } : claim,
          inbox,
        )
      }
    },
  },
  {
    disease: 'readers starve a waiting writer',
    topic: 'modes',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        const reads = state.holds.length > 0 && state.holds.every((hold) => hold.mode.kind === 'shared')
        if (event.kind !== 'claim' || event.claim.mode.kind !== 'shared' || !reads)
          return super.step(state, event, clock)
        const outcome = super.step({ ...state, queue: [] }, event, clock)
        return leaving(outcome, ({ queue }) => ({ queue: [...state.queue, ...queue] }))
      }
    },
  },
  {
    disease: 'two limits for one key both count',
    topic: 'modes',
    World: class extends World {
      protected override step<E extends Event>(state: KeyState, event: E, clock: Clock): Result<E> {
        if (event.kind !== 'claim' || event.claim.mode.kind !== 'permits')
          return super.step(state, event, clock)
        const { limit } = event.claim.mode
        const holds = state.holds.map((hold) => ({ ...hold, mode: { ...hold.mode, limit } }))
        return super.step({ ...state, holds }, event, clock)
      }
    },
  },
  {
    disease: 'the answers of a batch come in another order',
    topic: 'exclusion',
    World: class extends World {
      override open(): Store {
        const store = super.open()
        return { ...store, attempt: async (claims) => [...(await store.attempt(claims))].reverse() }
      }
    },
  },
  {
    disease: 'half a group is granted',
    topic: 'several keys',
    World: class extends World {
      protected override group(claims: readonly Claim[], inbox: string): ClaimAnswer[] {
        return claims.map((claim) => this.claim(claim, inbox))
      }
    },
  },
  {
    disease: 'keys are folded to lower case',
    topic: 'keys',
    World: class extends World {
      protected override keyOf(key: string): string {
        return key.toLowerCase()
      }
    },
  },
  {
    disease: 'keys lose their trailing spaces',
    topic: 'keys',
    World: class extends World {
      protected override keyOf(key: string): string {
        return key.trimEnd()
      }
    },
  },
  {
    disease: 'keys are cut at 255 letters',
    topic: 'keys',
    World: class extends World {
      protected override keyOf(key: string): string {
        return key.slice(0, 255)
      }
    },
  },
  {
    disease: 'keys are normalised',
    topic: 'keys',
    World: class extends World {
      protected override keyOf(key: string): string {
        return key.normalize('NFC')
      }
    },
  },
  {
    disease: 'paths in keys are resolved',
    topic: 'keys',
    World: class extends World {
      protected override keyOf(key: string): string {
        return posix.normalize(key)
      }
    },
  },
]
