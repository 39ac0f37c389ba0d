import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { type Deal, type DealAnswer, type RecordState, trade } from '../../../src/model/index.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import { deals, goods } from '../../model/deals.ts'

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
          ...(await Promise.all(together.map((deal) => store.records?.trade(`${way} ${number}`, deal)))),
        )
      expect(found.map(sorted), `seed ${seed}, day ${number}`).toEqual(byModel(all).map(sorted))
      compared += all.length
    }
    expect(compared).toBeGreaterThan(DAYS * 5)
  },
)

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
  let record: RecordState | null = null
  return all.map((deal) => {
    const { next, answer } = trade(record, deal, record?.version ?? 0, { nowMs: 0, stampUs: 1 }, 0)
    record = next
    return answer
  })
}

/** The order in which goods on their way are listed means nothing. */
function sorted(answer: DealAnswer | undefined): DealAnswer | undefined {
  if (answer?.kind !== 'stock') return answer
  return { ...answer, moving: [...answer.moving].sort((a, b) => (a.order < b.order ? -1 : 1)) }
}
