import fc from 'fast-check'
import type { Claim, Mode, Rules } from '../../src/model/index.ts'

/** Something a claimant, an operator or the clock does. Tokens are picked from those granted so far. */
export type Action =
  | { readonly kind: 'claim'; readonly id: string; readonly downgrade: boolean }
  | { readonly kind: 'adopt'; readonly id: string; readonly from: string; readonly stale: boolean }
  | { readonly kind: 'renew' | 'release'; readonly id: string; readonly ttlMs: number }
  | { readonly kind: 'evict' | 'revoke'; readonly back: number | null; readonly handedOver: number }
  | { readonly kind: 'tick' }

/** One action, how long after the one before it, and how far the wall clock is off at that moment. */
export interface Move {
  readonly waitMs: number
  readonly skewUs: number
  readonly action: Action
}

/** What the claims look like, one for each id, and what happens to them. */
export interface Plan {
  readonly claims: readonly Claim[]
  readonly moves: readonly Move[]
}

/** Short enough that a plan sees offers end and tokens forgotten. */
export const RULES: Rules = { offerMs: 8, keepSeqMs: 60 }

export const CLAIMANTS = ['a', 'b', 'c', 'd', 'e', 'f'] as const
/** Ids that only ever take over a hold. */
export const ADOPTERS = ['m', 'n'] as const
const EVERYBODY = [...CLAIMANTS, ...ADOPTERS]

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

const claims = modes.chain((mode) =>
  fc.tuple(
    ...CLAIMANTS.map((id) =>
      fc
        .record({
          mode,
          owner: fc.constantFrom(null, null, null, 'x', 'x', 'y'),
          ttlMs: fc.constantFrom(5, 10, 20, 50),
          queue: fc.constantFrom(true, true, true, false),
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
      id: fc.constantFrom(...CLAIMANTS),
      downgrade: fc.constantFrom(false, false, false, false, true),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('renew' as const, 'release' as const),
      id: fc.constantFrom(...EVERYBODY),
      ttlMs: fc.constantFrom(5, 10, 20, 50),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('adopt' as const),
      id: fc.constantFrom(...ADOPTERS),
      from: fc.constantFrom(...EVERYBODY),
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

const waitMs = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
  { weight: 3, arbitrary: fc.integer({ min: 5, max: 20 }) },
  { weight: 1, arbitrary: fc.integer({ min: 21, max: 120 }) },
)

const planWith = (skewUs: fc.Arbitrary<number>): fc.Arbitrary<Plan> =>
  fc.record({
    claims,
    moves: fc.array(fc.record({ waitMs, skewUs, action }), { minLength: 1, maxLength: 40, size: 'max' }),
  })

/** The wall clock jumps to and fro by up to a second, as a clock that is being set does. */
export const plan: fc.Arbitrary<Plan> = planWith(
  fc.oneof(fc.constant(0), fc.integer({ min: -1_000_000, max: 1_000_000 })),
)

/** The wall clock runs with the other one: the assumption under which a forgotten token cannot come back. */
export const planWithGoodClock: fc.Arbitrary<Plan> = planWith(fc.constant(0))
