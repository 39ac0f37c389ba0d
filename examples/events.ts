// Shows: what a `Locks` object tells about itself, for logs and metrics.
// Run:   node --import tsx examples/events.ts
// Prints:
//   granted order:42, handed over: false
//   waiting for order:42: place 1, held by till 1
//   timeout of order:42 after … ms
//   released order:42 after … ms: released
//   lost order:43 after … ms: deadline
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'

const world = memoryWorld()
const till1 = createLocks({ store: memory({ world }), label: 'till 1' })
const till2 = createLocks({ store: memory({ world }), label: 'till 2' })

till1.on('granted', ({ key, handedOver }) => console.log(`granted ${key}, handed over: ${handedOver}`))
till2.on('waiting', ({ key, position, holder }) => {
  console.log(`waiting for ${key}: place ${position}, held by ${holder}`)
})
till2.on('timeout', ({ key, waitedMs }) => console.log(`timeout of ${key} after ${Math.round(waitedMs)} ms`))
till1.on('released', ({ key, heldMs, outcome }) => {
  console.log(`released ${key} after ${Math.round(heldMs)} ms: ${outcome}`)
})

await till1.using('order:42', async () => {
  await till2.acquire('order:42', { wait: '30ms' }).catch(() => undefined)
})

const stop = till2.on('lost', ({ key, heldMs, cause }) => {
  console.log(`lost ${key} after ${Math.round(heldMs)} ms: ${cause}`)
})
await till2.acquire('order:43', { ttl: '30ms', renew: false })
await sleep(60)
stop()

await till1.close()
await till2.close()
