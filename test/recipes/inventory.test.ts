import { createLocks, type Taken } from 'holdfast'
import { expect, test } from 'vitest'
import { nodeRuntime } from '../../src/core/runtime.ts'
import type { Records } from '../../src/core/store.ts'
import { traderOf } from '../../src/recipes/stock-records.ts'
import { failure, Scene } from '../core/support.ts'

const taken = (answers: readonly Taken[]) => answers.filter(({ kind }) => kind === 'taken').length

test.each([1, 4, 16])(
  '%i stripes: never oversold, every unit once, no buyer over the limit',
  async (stripes) => {
    const scene = new Scene()
    const shops = [scene.party(), scene.party()].map(({ locks }) =>
      locks.inventory('sale', { stripes, perBuyer: 2 }),
    )
    const units = Array.from({ length: 40 }, (_, index) => `seat ${index}`)
    await scene.runtime.until(Promise.all(shops.map((shop) => shop.stock(units))))
    const answers = await scene.runtime.until(
      Promise.all(
        Array.from(
          { length: 200 },
          (_, index) => shops[index % 2]?.take(`buyer ${index % 60}`) as Promise<Taken>,
        ),
      ),
    )
    const sold = answers.flatMap((answer) => (answer.kind === 'taken' ? answer.units : []))
    expect(sold.sort()).toEqual([...units].sort())
    const perBuyer = new Map<string, number>()
    answers.forEach((answer, index) => {
      const buyer = `buyer ${index % 60}`
      if (answer.kind === 'taken') perBuyer.set(buyer, (perBuyer.get(buyer) ?? 0) + 1)
    })
    expect(Math.max(...perBuyer.values())).toBeLessThanOrEqual(2)
    expect(await scene.runtime.until((shops[0] as (typeof shops)[0]).remaining())).toBe(0)
    expect(await scene.runtime.until((shops[1] as (typeof shops)[0]).sold())).toBe(40)
  },
)

test('a step whose goods are sold between two of its reads begins again', async () => {
  await using locks = createLocks()
  const records = locks.records as Records
  const take = (order: string, count: number) =>
    ({ kind: 'take', order, buyer: order, count, perBuyer: null, holdMs: null }) as const
  const early = traderOf(records, nodeRuntime, 'sale')
  const sell = async () => {
    await early(take('last', 1))
    // A step begins when the cells of the one before it are written.
    await early({ kind: 'look' })
  }
  let sold: Promise<void> | undefined
  const slow: Records = {
    ...methodsOf(records),
    read: async (key) => {
      const isCell = key !== 'sale'
      if (isCell) {
        sold ??= sell()
        await sold
      }
      return records.read(key)
    },
  }
  await early({ kind: 'open', goods: ['seat 1', 'seat 2'], ttlMs: null })
  await early(take('first', 1))
  expect(await traderOf(slow, nodeRuntime, 'sale')(take('late', 1))).toEqual({ kind: 'short', left: 0 })
})

test('one buyer gets goods from every stripe, all or nothing', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('bulk', { stripes: 8 })
  await shop.stock(20)
  expect(await shop.take('me', { count: 21 })).toEqual({ kind: 'soldOut', left: 20 })
  expect(await shop.take('me', { count: 20, request: 'all' })).toMatchObject({ kind: 'taken', count: 20 })
  expect(await shop.take('me', { count: 20, request: 'all' })).toMatchObject({ kind: 'taken', count: 20 })
  expect([await shop.remaining(), await shop.sold()]).toEqual([0, 20])
})

test('a move that its starter did not finish is finished by the next buyer', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('crash', { stripes: 2 })
  await shop.stock(2)
  // The leftovers of a process that dies between the first and the second step of a move, in both directions.
  for (const [stripe, home] of [
    [0, 1],
    [1, 0],
  ]) {
    await traderOf(
      locks.records as Records,
      nodeRuntime,
      `inventory:crash:2:${stripe}`,
    )({
      kind: 'take',
      order: `move.${home}.dead`,
      buyer: null,
      count: 1,
      perBuyer: null,
      holdMs: null,
    })
  }
  expect(await shop.remaining()).toBe(2)
  const answers = [await shop.take('a'), await shop.take('b'), await shop.take('c')]
  expect(taken(answers)).toBe(2)
  expect([await shop.remaining(), await shop.sold()]).toEqual([0, 2])
})

test('holds return, are confirmed, and are given back', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const shop = locks.inventory('holds', { hold: '10m', perBuyer: 1 })
  await shop.stock(['a', 'b', 'c'])
  const [first, second, third] = [await shop.take('x'), await shop.take('y'), await shop.take('z')]
  if (first.kind !== 'taken' || second.kind !== 'taken' || third.kind !== 'taken')
    throw new Error('not taken')
  expect(await shop.take('x')).toEqual({ kind: 'limit', has: 1 })
  expect(await shop.take('w')).toEqual({ kind: 'soldOut', left: 0 })
  await shop.confirm(first.order)
  expect(await shop.giveBack(second.order)).toBe(true)
  expect([await shop.remaining(), await shop.held(), await shop.sold()]).toEqual([1, 1, 1])
  await scene.runtime.advance(600_001)
  expect([await shop.remaining(), await shop.held(), await shop.sold()]).toEqual([2, 0, 1])
  expect((await failure(shop.confirm(third.order))).code).toBe('CONFLICT')
  expect((await failure(shop.confirm(second.order))).message).toMatch(/was given back/)
  expect(await shop.giveBack(third.order)).toBe(false)
})

test('a request that was given back does not take again', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('late')
  await shop.stock(1)
  const answer = await shop.take('me', { request: 'r' })
  if (answer.kind === 'taken') await shop.giveBack(answer.order)
  expect(await shop.take('me', { request: 'r' })).toEqual({ kind: 'givenBack' })
  expect(await shop.remaining()).toBe(1)
})

test('goods are added once per request, spread over the stripes', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('restock', { stripes: 3 })
  await shop.stock(1)
  for (let call = 0; call < 2; call++) await shop.add(7, { request: 'delivery 1' })
  expect(await shop.remaining()).toBe(8)
  expect((await failure(shop.add(['a'], { request: 'delivery 2' }))).code).toBe('CONFLICT')
})

test('bad input is named', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('x')
  expect((await failure(shop.take('me'))).message).toMatch(/there is no stock of "x"/)
  await shop.stock(5)
  await shop.stock(5)
  expect((await failure(shop.stock(6))).code).toBe('CONFLICT')
  for (const wrong of [-1, 1.5, Number.NaN, 'ten', null, [1], ['a', 'a']]) {
    expect((await failure(shop.stock(wrong as never))).message).toMatch(/^goods must/)
  }
  expect((await failure(shop.take(''))).message).toMatch(/^buyer must/)
  expect((await failure(shop.take('me', { count: 0 }))).message).toMatch(/^count must/)
  expect((await failure(shop.confirm('nonsense'))).message).toMatch(/^order must/)
  expect(() => locks.inventory('y', { stripes: 0 })).toThrow(/^stripes must/)
  expect(() => locks.inventory('y', { perBuyer: -1 })).toThrow(/^perBuyer must/)
})

/** The methods of records, which may be those of a class. */
function methodsOf(records: Records): Records {
  return {
    read: (key) => records.read(key),
    write: (...rest) => records.write(...rest),
    remove: (...rest) => records.remove(...rest),
    take: (...rest) => records.take(...rest),
  }
}
