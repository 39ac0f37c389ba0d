import fc from 'fast-check'
import type { Claim } from '../../../src/model/index.ts'

/** Something that happens to the claims, which are known by their place in the plan. */
export type Action =
  | {
      readonly kind: 'attempt' | 'renew' | 'release' | 'group'
      readonly who: number
      readonly places: readonly number[]
    }
  | { readonly kind: 'evict' | 'revoke'; readonly key: number; readonly back: number | null }
  | { readonly kind: 'pass'; readonly ms: number; readonly skewMs: number }

export const KEYS = ['x', 'y', 'z']
const place = fc.nat({ max: 8 })
const places = fc.oneof(
  { weight: 6, arbitrary: place.map((one) => [one]) },
  { weight: 1, arbitrary: fc.array(place, { minLength: 2, maxLength: 3 }) },
)
const who = fc.nat({ max: 1 })

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('attempt' as const), who, places }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('release' as const), who, places }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('renew' as const), who, places }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('group' as const),
      who,
      places: fc.uniqueArray(place, { minLength: 2, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('evict' as const, 'revoke' as const),
      key: fc.nat({ max: 2 }),
      back: fc.constantFrom(null, 0, 1),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(0, 1, 99, 100, 101, 500, 999, 1000, 1001, 5000),
      skewMs: fc.constantFrom(0, 0, 0, -1000, 1000),
    }),
  },
)

const locks = fc.constantFrom<Claim['mode']>({ kind: 'exclusive' }, { kind: 'exclusive' }, { kind: 'shared' })
const permits = fc.constantFrom<Claim['mode']>(
  { kind: 'permits', limit: 2, weight: 1 },
  { kind: 'permits', limit: 2, weight: 1 },
  { kind: 'permits', limit: 2, weight: 3 },
)

/** One key is used as a lock, one as a semaphore, and one wrongly as both. */
const use = fc.oneof(
  { weight: 5, arbitrary: fc.record({ key: fc.constant('x'), mode: locks }) },
  { weight: 4, arbitrary: fc.record({ key: fc.constant('y'), mode: permits }) },
  { weight: 1, arbitrary: fc.record({ key: fc.constant('z'), mode: fc.oneof(locks, permits) }) },
)

const claim = fc
  .record({
    use,
    ttlMs: fc.constantFrom(100, 700, 1500, 5000),
    queue: fc.constantFrom(true, true, false),
    owner: fc.constantFrom(null, null, 'o'),
    lockDelayMs: fc.constantFrom(0, 0, 600),
    replaces: fc.option(fc.nat({ max: 8 }), { freq: 8, nil: null }),
  })
  .map(({ use: { key, mode }, ...rest }) => ({ key, mode, ...rest }))

export const plan = fc.record({
  claims: fc.array(claim, { minLength: 9, maxLength: 9 }),
  actions: fc.array(action, { minLength: 1, maxLength: 40, size: 'max' }),
})
