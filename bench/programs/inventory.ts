import { createLocks } from 'holdfast'
import { type AnyRedisClient, redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { emit, type Row, type Size } from '../result.ts'
import { median, quantile } from '../statistics.ts'

interface Order {
  readonly size: Size
  readonly url: string
}

type Take = (buyer: string) => Promise<boolean>

interface Subject {
  /** Puts enough on sale for a round. */
  stock(round: number): Promise<Take>
}

const { size, url } = JSON.parse(process.argv[2] as string) as Order
const tiny = size === 'tiny'
const ROUNDS = tiny ? 1 : 9
const TAKES = tiny ? 50 : 3000
const BARE = 'bare script'
const OURS = 'holdfast'

const client = new Redis(url)
const locks = createLocks({ store: redis(client as unknown as AnyRedisClient) })

/** The hand-written version: a counter that does not fall below zero, or a set of units; no limit, no request, no return. */
const COUNT = `local left = tonumber(redis.call('GET', KEYS[1]) or 0)
if left < 1 then return 0 end
redis.call('DECR', KEYS[1])
return 1`
const UNIT = `return redis.call('SPOP', KEYS[1])`

const units = Array.from({ length: TAKES }, (_, number) => `unit-${number}`)
const WORKLOADS: Readonly<Record<string, Readonly<Record<string, Subject>>>> = {
  'counted stock': {
    [BARE]: {
      async stock(round) {
        const sha = (await client.script('LOAD', COUNT)) as string
        await client.set(`bare:count:${round}`, TAKES)
        return async () => (await client.evalsha(sha, 1, `bare:count:${round}`)) === 1
      },
    },
    [OURS]: {
      async stock(round) {
        const sale = locks.inventory(`count-${round}`)
        await sale.stock(TAKES)
        return async (buyer) => (await sale.take(buyer)).kind === 'taken'
      },
    },
  },
  'numbered units': {
    [BARE]: {
      async stock(round) {
        const sha = (await client.script('LOAD', UNIT)) as string
        await client.sadd(`bare:units:${round}`, ...units)
        return async () => (await client.evalsha(sha, 1, `bare:units:${round}`)) !== null
      },
    },
    [OURS]: {
      async stock(round) {
        const sale = locks.inventory(`units-${round}`)
        await sale.stock(units)
        return async (buyer) => (await sale.take(buyer)).kind === 'taken'
      },
    },
  },
}

const rows: Row[] = []
for (const [workload, subjects] of Object.entries(WORKLOADS)) {
  for (const atOnce of [1, 100]) {
    const name = `${workload}, ${atOnce === 1 ? 'one after the other' : `${atOnce} at once`}`
    const rates = new Map<string, number[]>(Object.keys(subjects).map((subject) => [subject, []]))
    const tookMs = new Map<string, number[]>(Object.keys(subjects).map((subject) => [subject, []]))
    for (let round = 0; round <= ROUNDS; round++) {
      const order = Object.entries(subjects)
      for (const [subject, { stock }] of round % 2 === 0 ? order : order.toReversed()) {
        const each: number[] = []
        const rate = await rateOf(await stock(round * 1000 + atOnce), atOnce, each)
        // The first round warms up.
        if (round === 0) continue
        rates.get(subject)?.push(rate)
        tookMs.get(subject)?.push(...each)
      }
    }
    for (const subject of Object.keys(subjects)) {
      const own = rates.get(subject) as number[]
      const bare = rates.get(BARE) as number[]
      rows.push({
        workload: name,
        subject,
        figures: {
          'times bare': median(own.map((rate, round) => rate / (bare[round] as number))),
          'per second': median(own),
          'p99 ms': quantile(tookMs.get(subject) as number[], 0.99),
        },
      })
    }
  }
}
await locks.close()
await client.quit()
emit({
  rows,
  targets: rows
    .filter(({ subject }) => subject === OURS)
    .map(({ workload, figures }) => ({
      what: `${workload}: take, times the bare script`,
      value: figures['times bare'] as number,
      bound: { atLeast: 0.8 },
    })),
  overlaps: 0,
})

async function rateOf(take: Take, atOnce: number, tookMs: number[]): Promise<number> {
  let next = 0
  let sold = 0
  const startedAtMs = performance.now()
  const buyer = async (): Promise<void> => {
    while (next < TAKES) {
      const number = next++
      const askedAtMs = performance.now()
      if (await take(`buyer-${number}`)) sold++
      tookMs.push(performance.now() - askedAtMs)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, buyer))
  if (sold !== TAKES) throw new Error(`sold ${sold} of ${TAKES}`)
  return (TAKES / (performance.now() - startedAtMs)) * 1000
}
