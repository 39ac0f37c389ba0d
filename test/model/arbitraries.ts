import fc from 'fast-check'
import type { Claim, Mode, Rules } from '../../src/model/index.ts'

/**
 * Something a claimant, an operator or the clock does. Who does it is an id, or whoever then holds the key or waits
 * first; tokens are picked from those granted so far.
 */
export type Action =
  | { readonly kind: 'claim'; readonly id: string; readonly downgrade: boolean }
  | { readonly kind: 'adopt'; readonly id: string; readonly from: string; readonly stale: boolean }
  | { readonly kind: 'renew' | 'release'; readonly id: string; readonly ttlMs: number }
  | { readonly kind: 'evict' | 'revoke'; readonly back: number | null; readonly handedOver: number }
  | { readonly kind: 'tick' }

/** One action, how long after the one before it, and how far the wall clock is off at that moment. */
interface Move {
  readonly waitMs: number
  readonly skewUs: number
  readonly action: Action
}

/** The claims, one for each id, and the events on them. */
export interface Plan {
  readonly claims: readonly Claim[]
  readonly moves: readonly Move[]
}

/** Short enough that a plan sees offers end and tokens forgotten. */
export const RULES: Rules = { offerMs: 8, keepSeqMs: 60, mostOffers: Number.POSITIVE_INFINITY }

export const CLAIMANTS = ['a', 'b', 'c', 'd', 'e', 'f'] as const
/** Ids that only ever take over a hold. */
export const ADOPTERS = ['m', 'n'] as const
const EVERYBODY = [...CLAIMANTS, ...ADOPTERS]
export const FIRST_HOLDER = 'the first holder'
export const FIRST_WAITER = 'the first waiter'
const SOMEBODY = [...EVERYBODY, ...Array<string>(4).fill(FIRST_HOLDER), FIRST_WAITER, FIRST_WAITER]

export const exclusive: Mode = { kind: 'exclusive' }
export const shared: Mode = { kind: 'shared' }
export const permits = (limit: number, weight = 1): Mode => ({ kind: 'permits', limit, weight })

/** A claim with every field filled in, for examples and for the plans. */
export function claimOf(id: string, rest: Partial<Claim> = {}): Claim {
  return {
    key: 'k',
    id,
    mode: exclusive,
    ttlMs: 100,
    queue: true,
    owner: null,
    actor: null,
    label: `label of ${id}`,
    meta: null,
    lockDelayMs: 0,
    group: null,
    replaces: null,
    ...rest,
  }
}

const lockMode = fc.constantFrom<Mode>(exclusive, exclusive, shared, shared, shared)
const permitsMode = fc.constantFrom(1, 1, 2, 2, 3, 4).map((weight) => permits(4, weight))
const oddPermitsMode = fc.constantFrom(permits(4, 5), permits(3, 1), permits(2, 2))

/** A key is used as a lock, as a semaphore, or wrongly as both and with different limits. */
const modes = fc.oneof(
  { weight: 5, arbitrary: fc.constant(lockMode) },
  { weight: 4, arbitrary: fc.constant(permitsMode) },
  { weight: 1, arbitrary: fc.constant(fc.oneof(lockMode, permitsMode, oddPermitsMode)) },
)

/** How long claims live, against how long things take. */
interface Pace {
  readonly ttlMs: fc.Arbitrary<number>
  readonly waitMs: fc.Arbitrary<number>
}

/** Much expires, and now and then everything does. */
const slow: Pace = {
  ttlMs: fc.constantFrom(5, 10, 20, 50),
  waitMs: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
    { weight: 3, arbitrary: fc.integer({ min: 5, max: 20 }) },
    { weight: 1, arbitrary: fc.integer({ min: 21, max: 120 }) },
  ),
}

/** Lines grow long, because their places last. */
const busy: Pace = { ttlMs: fc.constantFrom(20, 50, 200), waitMs: fc.constantFrom(0, 0, 0, 1, 2, 5) }

/** Mostly strangers, or mostly claims of one owner. */
const owners = fc.constantFrom(
  fc.constantFrom(null, null, null, 'x', 'y'),
  fc.constantFrom(null, 'x', 'x', 'x'),
)

const claimsAt = ({ ttlMs }: Pace) =>
  fc.tuple(modes, owners).chain(([mode, owner]) =>
    fc.tuple(
      ...CLAIMANTS.map((id) =>
        fc
          .record({
            mode,
            owner,
            ttlMs,
            queue: fc.constantFrom(true, true, true, true, true, false),
            lockDelayMs: fc.constantFrom(0, 0, 0, 3, 15),
          })
          .map((fields) => claimOf(id, fields)),
      ),
    ),
  )

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      id: fc.constantFrom(...CLAIMANTS, FIRST_HOLDER, FIRST_WAITER),
      downgrade: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('renew' as const, 'release' as const),
      id: fc.constantFrom(...SOMEBODY),
      ttlMs: fc.constantFrom(5, 10, 20, 50),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('adopt' as const),
      id: fc.constantFrom(...ADOPTERS),
      from: fc.constantFrom(...SOMEBODY),
      stale: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('evict' as const, 'revoke' as const),
      back: fc.constantFrom(null, 0, 0, 1, 2),
      handedOver: fc.constantFrom(0, 0, 1, 255),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Action>({ kind: 'tick' }) },
)

const crowd = fc.shuffledSubarray<string>([...CLAIMANTS], { minLength: 4 })

const plansAt = (pace: Pace, skewUs: fc.Arbitrary<number>): fc.Arbitrary<Plan> =>
  fc
    .record({
      claims: claimsAt(pace),
      crowd: fc.oneof(fc.constant<string[]>([]), crowd, crowd, crowd),
      moves: fc.array(fc.record({ waitMs: pace.waitMs, skewUs, action }), { maxLength: 40, size: 'max' }),
    })
    .map(({ claims, crowd, moves }) => ({
      claims: claims.map((claim) => (claim.id === crowd[0] ? wholeOf(claim) : claim)),
      moves: [...crowd.map(arrival), ...moves],
    }))

/** The first of a crowd takes the whole key, so that there is a line to speak of. */
function wholeOf(claim: Claim): Claim {
  const { mode } = claim
  return {
    ...claim,
    owner: null,
    mode: mode.kind === 'permits' ? permits(mode.limit, mode.limit) : exclusive,
  }
}

function arrival(id: string): Move {
  return { waitMs: 0, skewUs: 0, action: { kind: 'claim', id, downgrade: false } }
}

const plansWith = (skewUs: fc.Arbitrary<number>) => fc.oneof(plansAt(slow, skewUs), plansAt(busy, skewUs))

/** The wall clock jumps to and fro by up to a second, as a clock that is being set does. */
export const plan: fc.Arbitrary<Plan> = plansWith(
  fc.oneof(fc.constant(0), fc.integer({ min: -1_000_000, max: 1_000_000 })),
)

/** The wall clock runs with the other one: the assumption under which a forgotten token cannot come back. */
export const planWithGoodClock: fc.Arbitrary<Plan> = plansWith(fc.constant(0))
