// Shows: taking a key that is held already, on purpose: by async context inside one process, or by a named owner from
//        anywhere. Without either, a second claim waits like any other, because branches of Promise.all would share it.
// Run:   node --import tsx examples/re-entry.ts
// Prints:
//   by context: inner and outer have the same token: true
//   after the inner one the key is still held: true
//   by owner: two services, one hold: true
//   free when the last of them let go: true
//   without either: LOCK_TIMEOUT
import { createLocks, type LockError } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'

// Two `Locks` objects over one store, as two services would be.
const world = memoryWorld()
const orders = createLocks({ store: memory({ world }) })
const billing = createLocks({ store: memory({ world }) })

await orders.using('order:42', { reentrant: true }, async (outer) => {
  await orders.using('order:42', { reentrant: true }, (inner) => {
    console.log(`by context: inner and outer have the same token: ${inner.token === outer.token}`)
  })
  console.log(`after the inner one the key is still held: ${outer.held}`)
})

const owner = 'checkout:7f3a'
const first = await orders.acquire('order:42', { owner })
const second = await billing.acquire('order:42', { owner })
console.log(`by owner: two services, one hold: ${first.token === second.token}`)
await first.release()
const early = await orders.tryAcquire('order:42')
await second.release()
const late = await orders.tryAcquire('order:42')
console.log(`free when the last of them let go: ${early === null && late !== null}`)

await orders
  .acquire('order:42', { wait: '20ms' })
  .catch((error: LockError) => console.log(`without either: ${error.code}`))
await orders.close()
await billing.close()
