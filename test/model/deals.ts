import fc from 'fast-check'
import type { Deal, Goods } from '../../src/model/index.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', '__proto__')

/** What a shop sees in a day: few names, so that orders repeat and meet. Holds outlive the test. */
export function deals(goods: Goods): fc.Arbitrary<readonly Deal[]> {
  const more =
    typeof goods === 'number' ? fc.nat({ max: 3 }) : fc.array(fc.uuid(), { minLength: 1, maxLength: 3 })
  const order = fc.record({ order: name })
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
