import fc from 'fast-check'
import type { Deal, DealAnswer, Goods } from '../../src/model/index.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', '__proto__')

/** A shop's day: few names, so that orders repeat and meet. Holds outlive the test. */
export function deals(goods: Goods): fc.Arbitrary<readonly Deal[]> {
  const more =
    typeof goods === 'number'
      ? fc.integer({ min: 1, max: 3 })
      : fc.array(fc.uuid(), { minLength: 1, maxLength: 3 })
  const order = fc.record({ order: name })
  const register = fc.record({
    kind: fc.constantFrom('register' as const, 'compare' as const),
    order: name,
    buyer: name,
    count: fc.integer({ min: 1, max: 3 }),
  })
  const take = fc.record({
    kind: fc.constant('take' as const),
    order: name,
    buyer: fc.option(name, { freq: 6 }),
    count: fc.integer({ min: 1, max: 3 }),
    perBuyer: fc.option(fc.integer({ min: 1, max: 4 })),
    holdMs: fc.option(fc.constant(3_600_000)),
  })
  const deal: fc.Arbitrary<Deal> = fc.oneof(
    { weight: 5, arbitrary: take },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('add' as const), order: name, goods: more }) },
    { weight: 1, arbitrary: register },
    { weight: 2, arbitrary: order.map(({ order }) => ({ kind: 'confirm' as const, order })) },
    { weight: 2, arbitrary: order.map(({ order }) => ({ kind: 'giveBack' as const, order })) },
    { weight: 1, arbitrary: order.map(({ order }) => ({ kind: 'ship' as const, order })) },
    { weight: 2, arbitrary: fc.constant({ kind: 'look' as const }) },
  )
  return fc.array(deal, { minLength: 1, maxLength: 25 })
}

export const goods: fc.Arbitrary<Goods> = fc.oneof(
  fc.nat({ max: 8 }),
  fc.integer({ min: 1, max: 8 }).map((size) => Array.from({ length: size }, (_, place) => `seat ${place}`)),
)

/**
 * For a stock of 7 out of 9 that an earlier build left: 2 `sold` to me, `returned` by me, `added`. It kept neither how many were
 * given back nor what was added.
 */
export const OF_EARLIER_BUILD: readonly (readonly [Deal, DealAnswer])[] = [
  [taking('sold', 'me', 2), { kind: 'taken', goods: 2 }],
  [taking('sold', 'me', 1), { kind: 'conflict', first: { kind: 'take', buyer: 'me', count: 2 } }],
  [taking('sold', 'you', 2), { kind: 'conflict', first: { kind: 'take', buyer: 'me', count: 2 } }],
  [taking('returned', 'me', 1), { kind: 'returned' }],
  [taking('returned', 'you', 1), { kind: 'conflict', first: { kind: 'take', buyer: 'me', count: 0 } }],
  [{ kind: 'add', order: 'added', goods: 5 }, { kind: 'added' }],
  [taking('added', 'me', 5), { kind: 'conflict', first: { kind: 'add', buyer: null, count: 0 } }],
  [{ kind: 'look' }, { kind: 'stock', left: 7, held: 0, sold: 2, moving: [] }],
]

function taking(order: string, buyer: string, count: number): Deal {
  return { kind: 'take', order, buyer, count, perBuyer: null, holdMs: null }
}
