import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Deal, DealAnswer, Goods } from '../../../src/model/index.ts'
import * as model from '../../../src/model/index.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import { stockNames } from '../../../src/stores/redis/names.ts'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'
import { deals, goods, OF_EARLIER_BUILD } from '../../model/deals.ts'
import { ModelShop } from '../../model/shop.ts'

const DAYS = 400
const seed = Number(process.env.FC_SEED ?? (Math.random() * 2 ** 31) | 0)

const server = await startRedis()
const client = new Redis(server.port)
const store = redis(client)
afterAll(async () => {
  await store.close()
  client.disconnect()
  await server.stop()
})

it.each(['one after the other', 'takes in a row as one call'])(
  'answers every deal as the model does: %s',
  async (way) => {
    const days = fc.sample(
      goods.chain((opening) => fc.tuple(fc.constant(opening), deals(opening))),
      { seed, numRuns: DAYS },
    )
    let compared = 0
    for (const [number, [opening, plan]] of days.entries()) {
      const all: Deal[] = [{ kind: 'open', goods: opening, ttlMs: null }, ...plan, { kind: 'look' }]
      const found: (DealAnswer | undefined)[] = []
      for (const together of way === 'one after the other' ? all.map((deal) => [deal]) : takesInARow(all))
        found.push(
          ...(await Promise.all(
            together.map((deal) => store.records?.inventory?.(`${way} ${number}`, deal)),
          )),
        )
      expect(found.map(sorted), `seed ${seed}, day ${number}`).toEqual(byModel(all).map(sorted))
      compared += all.length
    }
    expect(compared).toBeGreaterThan(DAYS * 5)
  },
)

it('compares an order that an earlier build stored by what that kept, and shuts that build out', async () => {
  const name = stockNames('old')[0] as string
  const orders = { 'o:sold': 's2:me2', 'o:returned': 'r2:me0', 'o:added': 'a0:0' }
  await client.hset(name, { head: '2c0', left: 7, held: 0, total: 9, opening: '9', 'b:me': 2, ...orders })
  for (const [deal, expected] of OF_EARLIER_BUILD)
    expect(await store.records?.inventory?.('old', deal), JSON.stringify(deal)).toEqual(expected)
  expect(await client.hget(name, 'head')).toBe('3c0')
})

it('forgets an order some time after its hold ran out', async () => {
  const [name, , ends] = stockNames('forget') as [string, string, string]
  const trade = (deal: Deal) => store.records?.inventory?.('forget', deal)
  const take = { kind: 'take', order: 'mine', buyer: 'me', count: 1, perBuyer: null, holdMs: 60_000 } as const
  await trade({ kind: 'open', goods: 2, ttlMs: null })
  await trade(take)
  await client.zadd(ends, 1, 'mine')
  await trade({ kind: 'look' })
  expect(await client.hget(name, 'o:mine')).toBe('k2:me1')
  expect(Number(await client.zscore(ends, 'mine'))).toBeGreaterThan(Date.now() + 86_000_000)
  await client.zadd(ends, 1, 'mine')
  await trade({ ...take, order: 'other' })
  await trade({ kind: 'look' })
  expect(await client.hkeys(name)).not.toContain('o:mine')
  expect(await client.zrange(ends, 0, -1)).toEqual(['other'])
})

describe('a crowd of holds that run out at once', () => {
  const CROWD = 2 * model.MOST_RETURNS + 20
  const HOLD_MS = 60_000
  const seats = Array.from({ length: CROWD }, (_, place) => `seat ${place}`)
  const taking = { kind: 'take', buyer: 'me', perBuyer: null, holdMs: null } as const
  const nexts: [string, Deal][] = [
    ['a take of all', { ...taking, order: 'all', count: CROWD }],
    ['a take of one', { ...taking, order: 'one', count: 1 }],
    ['a take by its own buyer', { ...taking, order: '7', buyer: 'buyer 7', count: 1 }],
    ['a take of its order by another', { ...taking, order: '7', count: 1 }],
    ['a late confirmation', { kind: 'confirm', order: '7' }],
    ['a late return', { kind: 'giveBack', order: '7' }],
    ['a shipment', { kind: 'ship', order: '7' }],
    ['an order to be kept', { kind: 'register', order: '7', buyer: 'me', count: 1 }],
    ['more goods', { kind: 'add', order: 'more', goods: 1 }],
    ['an opening', { kind: 'open', goods: 1, ttlMs: null }],
    ['a look', { kind: 'look' }],
  ]
  const goodsOf = { counted: CROWD, named: seats }

  /** A stock of which everything was held, by one buyer for each of the goods, until a time that is over. */
  async function fill(key: string, goods: Goods): Promise<ModelShop> {
    const shop = new ModelShop(model)
    const takes = seats.map((_, place): Deal => {
      const [order, buyer] = [String(place), `buyer ${place}`]
      return { ...taking, order, buyer, count: 1, holdMs: HOLD_MS + place }
    })
    for (const deal of [{ kind: 'open', goods, ttlMs: null } as const, ...takes])
      expect(await store.records?.inventory?.(key, deal)).toEqual(shop.trade(deal))
    const ends = stockNames(key)[2] as string
    await client.zadd(ends, ...seats.flatMap((_, place) => [place + 1, String(place)]))
    return shop
  }

  describe.each(['counted', 'named'] as const)('of %s goods', (kind) => {
    it.each(nexts)('has returned before %s, as in the model', async (name, next) => {
      const key = `crowd ${kind} ${name}`
      const shop = await fill(key, goodsOf[kind])
      for (const deal of [next, { kind: 'look' } as const, { ...taking, order: 'rest', count: CROWD }]) {
        const found = await store.records?.inventory?.(key, deal)
        expect(found).toEqual(shop.trade(deal, 2 * HOLD_MS))
      }
    })

    it('has returned before takes of one tick are answered', async () => {
      const key = `crowd ${kind} takes`
      const shop = await fill(key, goodsOf[kind])
      const takes = seats.map((_, place): Deal => ({ ...taking, order: `new ${place}`, count: 1 }))
      const found = await Promise.all(takes.map((deal) => store.records?.inventory?.(key, deal)))
      expect(found).toEqual(takes.map((deal) => shop.trade(deal, 2 * HOLD_MS)))
      expect(found).not.toContainEqual(expect.objectContaining({ kind: 'short' }))
    })
  })

  it('returns by at most as many in one call as in one step of the model', async () => {
    const names = stockNames('crowd in calls') as [string, string, string]
    await fill('crowd in calls', CROWD)
    const left: unknown[] = []
    const look = () => client.eval(SCRIPTS.stockLook.source, names.length, ...names)
    for (let answer = await look(); answer === 'again'; answer = await look())
      left.push(await client.hget(names[0], 'left'))
    expect(left).toEqual([String(model.MOST_RETURNS), String(2 * model.MOST_RETURNS)])
    expect(await client.hget(names[0], 'left')).toBe(String(CROWD))
  })
})

function takesInARow(all: readonly Deal[]): Deal[][] {
  const rows: Deal[][] = []
  for (const deal of all) {
    const last = rows.at(-1)
    if (deal.kind === 'take' && last?.[0]?.kind === 'take') last.push(deal)
    else rows.push([deal])
  }
  return rows
}

function byModel(all: readonly Deal[]): DealAnswer[] {
  const shop = new ModelShop(model)
  return all.map((deal) => shop.trade(deal))
}

/** The order in which goods on their way are listed means nothing. */
function sorted(answer: DealAnswer | undefined): DealAnswer | undefined {
  if (answer?.kind !== 'stock') return answer
  return { ...answer, moving: [...answer.moving].sort((a, b) => (a.order < b.order ? -1 : 1)) }
}
