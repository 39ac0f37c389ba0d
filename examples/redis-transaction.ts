// Shows: an optimistic change in Redis: read, decide, and write only if nobody else wrote meanwhile; else again. Redis
//        does not roll back: when one command of a transaction fails, the others stay done, and the error says which.
// Run:   node --import tsx examples/redis-transaction.ts
// Prints:
//   20 buyers, 10 in stock: 10 served, 0 left
//   applied: true
//   INCR: ERR value is not an integer or out of range
//   SET: OK
//   audit is now "stock corrected"
import { TransactionError } from 'holdfast'
import { transaction } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { startRedis } from '../scripts/servers/redis.ts'

const server = await startRedis()
const client = new Redis(server.url)
await client.set('stock', 10)

async function buy(): Promise<boolean> {
  const { value } = await transaction(
    client,
    ['stock'],
    async (tx) => {
      if (Number(await tx.read('GET', 'stock')) === 0) return false
      tx.queue('DECR', 'stock')
      tx.queue('INCR', 'sold')
      return true
    },
    { tries: 100 },
  )
  return value
}

const served = await Promise.all(Array.from({ length: 20 }, buy))
console.log(
  `20 buyers, 10 in stock: ${served.filter(Boolean).length} served, ${await client.get('stock')} left`,
)

await client.set('name', 'not a number')
try {
  await transaction(client, ['name'], (tx) => {
    tx.queue('INCR', 'name')
    tx.queue('SET', 'audit', 'stock corrected')
  })
} catch (error) {
  if (!(error instanceof TransactionError)) throw error
  console.log(`applied: ${error.applied}`)
  for (const { command, reply, error: why } of error.outcomes)
    console.log(`${command}: ${why === null ? reply : why.message}`)
  console.log(`audit is now "${await client.get('audit')}"`)
}

client.disconnect()
await server.stop()
