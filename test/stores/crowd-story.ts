import fc from 'fast-check'
import type { Claim, Hold } from '../../src/model/index.ts'
import { exclusive, permits, shared } from '../model/arbitraries.ts'
import type { Action } from './sqlite/plan.ts'

/** The number of simultaneous waiters behind the holder, which has place 0. */
export const WAITERS = 200
const STEPS = 120
const JOIN_ALONE = 100

type Request = Pick<Claim, 'mode' | 'owner'>

/** The request of the claim at each place of a crowd. */
const CROWDS = {
  exclusive: () => ({ mode: exclusive, owner: null }),
  // More at once than any store admits in one step.
  readers: (place) => ({ mode: place === 160 ? exclusive : shared, owner: null }),
  permits: (place) => ({ mode: permits(10, 1 + (place % 3)), owner: null }),
  owners: (place) =>
    place % 10 === 9
      ? { mode: exclusive, owner: null }
      : { mode: shared, owner: place % 7 === 0 ? `owner ${place % 3}` : null },
  mixed: (place) => ({ mode: place % 3 === 1 ? shared : exclusive, owner: place % 9 === 4 ? 'owner' : null }),
} satisfies Record<string, (place: number) => Request>

export type CrowdKind = keyof typeof CROWDS
export const CROWD_KINDS = Object.keys(CROWDS) as readonly CrowdKind[]

/** The claims of a crowd. The first one takes the whole key; a few of the others live short. */
export function crowdOf(kind: CrowdKind, shortMs: number, longMs: number) {
  const whole = { mode: kind === 'permits' ? permits(10, 10) : exclusive, owner: null }
  return Array.from({ length: WAITERS + 1 }, (_, place) => ({
    ...(place === 0 ? whole : CROWDS[kind](place)),
    ttlMs: place % 20 === 19 ? shortMs : longMs,
    queue: true,
  }))
}

type CrowdAction =
  | {
      readonly kind: 'attempt' | 'renew' | 'release'
      readonly who: number
      readonly places: readonly number[]
    }
  | Exclude<Action, { readonly places: unknown }>

/** A claim releases, leaves, renews or retries, an operator acts, or time passes, counted in lives of an offer. */
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('hand on' as const), who: fc.nat({ max: 1 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('attempt' as const, 'renew' as const, 'release' as const),
      who: fc.nat({ max: 1 }),
      places: fc.array(fc.nat({ max: WAITERS }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('evict' as const, 'revoke' as const),
      key: fc.constant(0),
      back: fc.constantFrom(null, 0, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), lives: fc.constantFrom(0.2, 0.7, 1.1) }),
  },
)

const story = fc.array(step, { minLength: STEPS, maxLength: STEPS })

/** The actions on a crowd, the same for the same seed: all join and are renewed, the holder releases, and then anything. */
export function* crowdActions(
  seed: number,
  offerMs: number,
  heldBy: () => readonly number[],
): Generator<CrowdAction> {
  for (let first = 0; first <= WAITERS; ) {
    const count = first <= JOIN_ALONE ? 1 : 10
    yield { kind: 'attempt', who: first % 2, places: placesFrom(first, count) }
    first += count
  }
  yield { kind: 'renew', who: 0, places: placesFrom(0, WAITERS + 1) }
  yield { kind: 'release', who: 0, places: [0] }
  for (const each of fc.sample(story, { seed, numRuns: 1 })[0] ?? []) {
    if (each.kind === 'pass') yield { kind: 'pass', ms: Math.round(each.lives * offerMs), skewMs: 0 }
    else if (each.kind !== 'hand on') yield each
    else if (heldBy().length > 0) yield { kind: 'release', who: each.who, places: heldBy() }
  }
}

/** The places of those who hold the key, when each claim's id is its place behind `prefix`. */
export function placesOf(holds: readonly Hold[], prefix: string): readonly number[] {
  return holds.flatMap(({ members }) => members.map(({ id }) => Number(id.slice(prefix.length))))
}

function placesFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: Math.min(count, WAITERS + 1 - first) }, (_, more) => first + more)
}
