// Shows: `SET NX PX` and then `DEL` without looking whose lock it is: a slow holder deletes the lock of its successor, and a third
//        one comes in beside it. A release that compares the claim's id cannot.
// Run:   node --import tsx examples/mistake-blind-delete.ts
// Prints:
//   blind DEL: at most 2 inside at once
//   holdfast: at most 1 inside at once
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import { Redis } from 'ioredis'
import { startRedis } from '../scripts/servers/redis.ts'

const TTL_MS = 400
const server = await startRedis()
const client = new Redis(server.url)
const locks = await connect(server.url)
type Using = (work: () => Promise<void>) => Promise<unknown>

/** The second generation: it ends by itself, but it does not know its owner. */
const naive: Using = async (work) => {
  while ((await client.set('naive', 'locked', 'PX', TTL_MS, 'NX')) === null) await sleep(5)
  await work()
  await client.del('naive')
}
/** A lease of the same length that is not renewed; whoever is too slow has lost it, and knows. */
const careful: Using = (work) => locks.using('careful', { ttl: TTL_MS, renew: false }, work).catch(() => {})

/** One who is too slow, and two who come while it still works. Being late counts as outside: the lease was over. */
async function mostInside(using: Using): Promise<number> {
  let inside = 0
  let most = 0
  const visit = (late: boolean, workMs: number) =>
    using(async () => {
      if (late) return sleep(workMs)
      most = Math.max(most, ++inside)
      await sleep(workMs)
      inside--
    })
  const slow = visit(true, 1.5 * TTL_MS)
  await sleep(TTL_MS / 2)
  await Promise.all([slow, visit(false, 0.8 * TTL_MS), sleep(TTL_MS).then(() => visit(false, 0.8 * TTL_MS))])
  return most
}

console.log(`blind DEL: at most ${await mostInside(naive)} inside at once`)
console.log(`holdfast: at most ${await mostInside(careful)} inside at once`)
await locks.close()
client.disconnect()
await server.stop()
