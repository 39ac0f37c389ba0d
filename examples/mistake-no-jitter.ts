// Shows: waiters that look again at a fixed pace, all at the same moments: a herd that asks the server again and again for
//        nothing, and whoever is lucky comes in. A line asks once, and is served in order.
// Run:   node --import tsx examples/mistake-no-jitter.ts
// Prints:
//   20 waiters that poll: more than 100 commands
//   20 waiters in a line: at most 100 commands, served in the order in which they came
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import { Redis } from 'ioredis'
import { startRedis } from '../scripts/servers/redis.ts'

const WAITERS = 20
const server = await startRedis()
const client = new Redis(server.url)
const locks = await connect(server.url)

/** How many times the server was asked to lock, release or read while all had their turn. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  await client.config('RESETSTAT')
  await work()
  const stats = await client.info('commandstats')
  const calls = [...stats.matchAll(/^cmdstat_(?:set|del|evalsha|eval):calls=(\d+)/gm)]
  return calls.reduce((sum, [, count]) => sum + Number(count), 0)
}

async function poll(): Promise<void> {
  while ((await client.set('naive', 'me', 'PX', 10_000, 'NX')) === null) await sleep(10)
  await sleep(10)
  await client.del('naive')
}

const polled = await commandsOf(() => Promise.all(Array.from({ length: WAITERS }, poll)))
console.log(`${WAITERS} waiters that poll: ${polled > 100 ? 'more than' : 'AT MOST'} 100 commands`)

const served: number[] = []
const inLine = await commandsOf(() =>
  Promise.all(
    Array.from({ length: WAITERS }, (_, number) =>
      locks.using('line', async () => {
        served.push(number)
        await sleep(10)
      }),
    ),
  ),
)
const order = served.every((number, place) => number === place) ? 'the order' : 'NOT the order'
console.log(
  `${WAITERS} waiters in a line: ${inLine <= 100 ? 'at most' : 'MORE THAN'} 100 commands, served in ${order} in which they came`,
)
await locks.close()
client.disconnect()
await server.stop()
