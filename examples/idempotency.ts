// Shows: a payment callback that is delivered three times has its effect once, and every delivery gets the same answer.
// Run:   node --import tsx examples/idempotency.ts
// Prints:
//   charged order 42
//   answers: receipt 1, receipt 1, receipt 1
//   a failure leaves no mark: second try worked
import { createLocks } from 'holdfast'

const locks = createLocks()
let receipts = 0

const callback = (payment: string) =>
  locks.once(`payment:${payment}`, { ttl: '24h' }, async () => {
    console.log('charged order 42')
    return `receipt ${++receipts}`
  })

const answers = await Promise.all([callback('p-1'), callback('p-1'), callback('p-1')])
console.log(`answers: ${answers.join(', ')}`)

let tries = 0
const shaky = () =>
  locks.once('payment:p-2', () => {
    if (++tries === 1) throw new Error('the bank did not answer')
    return 'second try worked'
  })
await shaky().catch(() => undefined)
console.log(`a failure leaves no mark: ${await shaky()}`)
await locks.close()
