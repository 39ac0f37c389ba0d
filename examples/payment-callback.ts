// Shows: a payment callback, with idempotency and a lock: the same callback delivered five times has its effect once, and
//        two different callbacks for one order (paid, refunded) never change it at the same time.
// Run:   node --import tsx examples/payment-callback.ts
// Prints:
//   5 deliveries, 1 effect, 1 answer
//   order 7 is refunded, after it was paid: paid, refunded
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const locks = createLocks()
const history: string[] = []

interface Callback {
  readonly event: string
  readonly order: string
  readonly status: string
}

/** Idempotent by the id of the event, one at a time by the id of the order. */
async function handle({ event, order, status }: Callback): Promise<string> {
  return locks.once(`event:${event}`, { ttl: '24h', onDuplicate: 'wait' }, () =>
    locks.using(`order:${order}`, async () => {
      await sleep(5)
      history.push(status)
      return `order ${order} is ${status}`
    }),
  )
}

const paid: Callback = { event: 'e1', order: '7', status: 'paid' }
const answers = await Promise.all(Array.from({ length: 5 }, () => handle(paid)))
console.log(`${answers.length} deliveries, ${history.length} effect, ${new Set(answers).size} answer`)
const refunded = await handle({ event: 'e2', order: '7', status: 'refunded' })
console.log(`${refunded}, after it was paid: ${history.join(', ')}`)
await locks.close()
