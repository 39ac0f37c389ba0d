import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import type { Deal, DealAnswer } from '../../../src/model/index.ts'
import * as model from '../../../src/model/index.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import { stockNames } from '../../../src/stores/redis/names.ts'
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
