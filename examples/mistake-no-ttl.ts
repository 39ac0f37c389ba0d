// Shows: a lock without a ttl, as in the first generation of Redis locks (`SETNX`, later `DEL`): when its holder dies, nobody
//        ever gets it again. A lease ends by itself.
// Run:   node --import tsx examples/mistake-no-ttl.ts
// Prints:
//   SETNX, and the holder died: still locked after 400 ms, its ttl is -1 (none)
//   a lease, and the holder died: free after its ttl
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast'
import { Redis } from 'ioredis'
import { startRedis } from '../scripts/servers/redis.ts'

const TTL_MS = 200
const [url] = process.argv.slice(2)
await (url === undefined ? main() : takeAndDie(url))

async function main(): Promise<void> {
  const server = await startRedis()
  const client = new Redis(server.url)
  await once(fork(fileURLToPath(import.meta.url), [server.url]), 'exit')
  await sleep(2 * TTL_MS)
  const taken = (await client.setnx('naive:report', 'me')) === 0
  console.log(
    `SETNX, and the holder died: ${taken ? 'still locked' : 'FREE'} after ${2 * TTL_MS} ms, its ttl is ${await client.pttl('naive:report')} (none)`,
  )
  const locks = await connect(server.url)
  const lease = await locks.tryAcquire('report')
  console.log(`a lease, and the holder died: ${lease === null ? 'LOCKED' : 'free after its ttl'}`)
  await locks.close()
  client.disconnect()
  await server.stop()
}

/** Takes both locks and is killed before it can give them back. */
async function takeAndDie(redis: string): Promise<void> {
  const client = new Redis(redis)
  await client.setnx('naive:report', 'other')
  const locks = await connect(redis)
  await locks.acquire('report', { ttl: TTL_MS })
  process.kill(process.pid, 'SIGKILL')
}
