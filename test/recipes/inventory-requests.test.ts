import { createLocks, type Goods, type Inventory, type Locks, type Taken } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { nodeRuntime } from '../../src/core/runtime.ts'
import type { Records } from '../../src/core/store.ts'
import { traderOf } from '../../src/recipes/stock-records.ts'
import { stripeOf } from '../../src/recipes/striped.ts'
import { failure, Scene } from '../core/support.ts'

const server = await startRedis()
const client = new Redis(server.port)
const memory = createLocks()
const stores: Record<string, Locks> = { memory, redis: createLocks({ store: redis(client) }) }
afterAll(async () => {
  for (const locks of Object.values(stores)) await locks.close()
  client.disconnect()
  await server.stop()
})

let names = 0
async function open(locks: Locks, goods: Goods, options = {}): Promise<Inventory> {
  const shop = locks.inventory(`shop ${++names}`, options)
  await shop.stock(goods)
  return shop
}

const conflict = async (promise: Promise<unknown>, why: RegExp) => {
  const error = await failure(promise)
  expect(error.code).toBe('CONFLICT')
  expect(error.message).toMatch(why)
}
const unitsOf = (answer: Taken) => (answer.kind === 'taken' ? answer.units : [])
const buyers = Array.from({ length: 12 }, (_, index) => `buyer ${index}`)

const shops = Object.entries(stores).flatMap(([store, locks]) =>
  [1, 4, 16].map((stripes) => ({ store, locks, stripes })),
)

describe.each(shops)('$store, $stripes stripes', ({ locks, stripes }) => {
  test('added goods are not taken by the same request, and the other way round', async () => {
    const shop = await open(locks, 20, { stripes })
    for (const buyer of buyers) {
      await shop.add(1, { request: `delivery for ${buyer}` })
      await conflict(
        shop.take(buyer, { request: `delivery for ${buyer}` }),
        /another operation \(add, not take\)/,
      )
      expect(await shop.take(buyer, { request: `cart of ${buyer}` })).toMatchObject({
        kind: 'taken',
        count: 1,
      })
      await conflict(shop.add(1, { request: `cart of ${buyer}` }), /another operation \(take, not add\)/)
    }
    expect([await shop.remaining(), await shop.sold()]).toEqual([20, 12])
  })

  test('of many buyers with one request, one after the other, only the first gets goods', async () => {
    const seats = buyers.map((_, index) => `seat ${index}`)
    const shop = await open(locks, seats, { stripes })
    const first = await shop.take('buyer 0', { request: 'r' })
    expect(unitsOf(first)).toHaveLength(1)
    for (const buyer of buyers.slice(1))
      await conflict(shop.take(buyer, { request: 'r' }), /with another buyer:/)
    for (const buyer of buyers.slice(1))
      await conflict(shop.take(buyer, { request: 'r' }), /with another buyer:/)
    expect(await shop.take('buyer 0', { request: 'r' })).toEqual(first)
    expect([await shop.remaining(), await shop.sold()]).toEqual([11, 1])
  })

  test('of many buyers with one request at once, at most one gets goods, and the others leave none behind', async () => {
    const shop = await open(locks, 100, { stripes, perBuyer: 1 })
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.allSettled(
        buyers.map((buyer) => shop.take(buyer, { request: `r ${round}` })),
      )
      const winners = answers.filter(({ status }) => status === 'fulfilled').length
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason.code).toBe('CONFLICT')
      expect(winners).toBe(1)
      expect([await shop.remaining(), await shop.sold()]).toEqual([99, 1])
      const [winner] = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      if (winner?.kind === 'taken') await shop.giveBack(winner.order)
    }
  })

  test('a buyer refused at a sold-out stock learns of the other buyer', async () => {
    const shop = await open(locks, 1, { stripes })
    await shop.take('buyer 0', { request: 'r' })
    for (const buyer of buyers.slice(1)) {
      await conflict(shop.take(buyer, { request: 'r' }), /with another buyer:/)
      expect(await shop.take(buyer, { request: `of ${buyer}` })).toEqual({ kind: 'soldOut', left: 0 })
    }
  })

  test('a request has one count', async () => {
    const shop = await open(locks, 20, { stripes })
    await shop.take('ann', { request: 'r', count: 2 })
    await conflict(shop.take('ann', { request: 'r' }), /with another count \(2, not 1\):/)
    await conflict(shop.take('bob', { request: 'r' }), /another buyer and another count \(2, not 1\):/)
    expect(await shop.take('ann', { request: 'r', count: 2 })).toMatchObject({ kind: 'taken', count: 2 })
    expect([await shop.remaining(), await shop.sold()]).toEqual([18, 2])
  })

  test('a delivery has one count and one list of units', async () => {
    const shop = await open(locks, 1, { stripes })
    await shop.add(1, { request: 'r' })
    await conflict(shop.add(2, { request: 'r' }), /with another count \(1, not 2\):/)
    expect(await shop.remaining()).toBe(2)
    const hall = await open(locks, ['a'], { stripes })
    await hall.add(['b', 'c'], { request: 'r' })
    await conflict(hall.add(['b', 'd'], { request: 'r' }), /with other units:/)
    await hall.add(['b', 'c'], { request: 'r' })
    expect(await hall.remaining()).toBe(3)
  })

  test('after it was given back, a request still belongs to its buyer and count', async () => {
    const shop = await open(locks, 5, { stripes })
    const answer = await shop.take('ann', { request: 'r', count: 2 })
    if (answer.kind === 'taken') await shop.giveBack(answer.order)
    expect(await shop.take('ann', { request: 'r', count: 2 })).toEqual({ kind: 'givenBack' })
    for (const buyer of buyers) await conflict(shop.take(buyer, { request: 'r', count: 2 }), /another buyer:/)
    await conflict(shop.take('ann', { request: 'r' }), /another count \(2, not 1\):/)
    await conflict(shop.add(2, { request: 'r' }), /another operation/)
    expect([await shop.remaining(), await shop.sold()]).toEqual([5, 0])
  })

  test('a request may be called like a move, and be as long as it may', async () => {
    const shop = await open(locks, 20, { stripes, hold: '1m' })
    for (const request of [
      'move.0.x',
      '~move.0.x',
      '~',
      'move.',
      'm'.repeat(256),
      `move.${'m'.repeat(251)}`,
    ]) {
      const answer = await shop.take('ann', { request })
      expect(await shop.take('ann', { request })).toEqual(answer)
      if (answer.kind === 'taken') await shop.confirm(answer.order)
      await conflict(shop.take('bob', { request }), /another buyer/)
    }
    expect([await shop.remaining(), await shop.held(), await shop.sold()]).toEqual([14, 0, 6])
  })

  test('a delivery reaches every buyer', async () => {
    const shop = await open(locks, 0, { stripes })
    await shop.add(40, { request: 'r' })
    await shop.add(40, { request: 'r' })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => shop.take(`buyer ${index}`)))
    expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(40)
    expect([await shop.remaining(), await shop.sold()]).toEqual([0, 40])
  })
})

test.each([1, 16])('%i stripes: a hold that ran out does not give its request to others', async (stripes) => {
  const scene = new Scene()
  const { locks } = scene.party()
  const shop = locks.inventory('lapsed', { hold: '10m', stripes })
  await scene.runtime.until(shop.stock(buyers))
  const take = (buyer: string) => scene.runtime.until(shop.take(buyer, { request: 'r' }))
  const first = await take('ann')
  await scene.runtime.advance(600_001)
  for (const buyer of buyers) await conflict(take(buyer), /another buyer/)
  if (first.kind === 'taken') await conflict(scene.runtime.until(shop.confirm(first.order)), /ran out/)
  const again = await take('ann')
  if (again.kind === 'taken') await scene.runtime.until(shop.confirm(again.order))
  expect(await scene.runtime.until(shop.sold())).toBe(1)
})

test('goods of a buyer that died before its request was registered return when it asks again', async () => {
  await using locks = createLocks()
  const shop = locks.inventory('died', { stripes: 16 })
  await shop.stock(32)
  const homeOf = (name: string) => stripeOf(name, 16)
  const dead = buyers.find((buyer) => homeOf(buyer) !== homeOf('r')) as string
  const other = buyers.find((buyer) => ![homeOf('r'), homeOf(dead)].includes(homeOf(buyer))) as string
  // The leftovers of a process that dies right after the take.
  await traderOf(
    locks.records as Records,
    nodeRuntime,
    `inventory:died:16:${homeOf(dead)}`,
  )({
    kind: 'take',
    order: 'r',
    buyer: dead,
    count: 1,
    perBuyer: null,
    holdMs: null,
  })
  expect(await shop.take(other, { request: 'r' })).toMatchObject({ kind: 'taken' })
  expect(await shop.sold()).toBe(2)
  for (let call = 0; call < 2; call++) await conflict(shop.take(dead, { request: 'r' }), /another buyer/)
  expect([await shop.remaining(), await shop.sold()]).toEqual([31, 1])
})
