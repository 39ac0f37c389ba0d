// Shows: a thousand callers ask for the same expensive value at once, and it is loaded once.
// Run:   node --import tsx examples/cache.ts
// Prints:
//   1000 callers, 1 load
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const locks = createLocks()
let loads = 0
const prices = () =>
  locks.cached('prices', { ttl: '30s', stale: '5m' }, async () => {
    loads++
    await sleep(20)
    return { book: 12 }
  })

const callers = await Promise.all(Array.from({ length: 1000 }, prices))
console.log(`${callers.length} callers, ${loads} load`)
await locks.close()
