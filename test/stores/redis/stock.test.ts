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

it('answers every deal as the model does', async () => {
  const days = fc.sample(
    goods.chain((opening) => fc.tuple(fc.constant(opening), deals(opening))),
    { seed, numRuns: DAYS },
  )
  let compared = 0
  for (const [number, [opening, plan]] of days.entries()) {
    const all: Deal[] = [{ kind: 'open', goods: opening, ttlMs: null }, ...plan, { kind: 'look' }]
    const found: (DealAnswer | undefined)[] = []
    // One after the other: a script that the server does not know yet would be overtaken by those that it knows.
    for (const deal of all) found.push(await store.records?.trade(`day ${number}`, deal))
    expect(found.map(sorted), `seed ${seed}, day ${number}`).toEqual(byModel(all).map(sorted))
    compared += all.length
  }
  expect(compared).toBeGreaterThan(DAYS * 5)
})

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
