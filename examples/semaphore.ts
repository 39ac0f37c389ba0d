// Shows: at most three at the same time; a heavy job takes two of the three places.
// Run:   node --import tsx examples/semaphore.ts
// Prints:
//   7 light jobs, never more than 3 at once
//   beside a heavy job there is room for one light job: true, then false
//   another limit for the same key: CONFLICT
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type LockError } from 'holdfast'

const locks = createLocks()
const encoders = locks.semaphore('encoders', { limit: 3 })

let running = 0
let most = 0
const jobs = Array.from({ length: 7 }, () =>
  encoders.using(async () => {
    most = Math.max(most, ++running)
    await sleep(10)
    running--
  }),
)
await Promise.all(jobs)
console.log(`${jobs.length} light jobs, never more than ${most} at once`)

const heavy = await encoders.acquire({ weight: 2 })
const light = await encoders.tryAcquire()
const tooMuch = await encoders.tryAcquire()
console.log(`beside a heavy job there is room for one light job: ${light !== null}, then ${tooMuch !== null}`)

const other = locks.semaphore('encoders', { limit: 5 })
await other
  .acquire()
  .catch((error: LockError) => console.log(`another limit for the same key: ${error.code}`))

await Promise.all([heavy.release(), light?.release()])
await locks.close()
