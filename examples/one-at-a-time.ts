// Shows: what the lock is for. Two tasks change one total; without the lock both would start from the same old value.
// Run:   node --import tsx examples/one-at-a-time.ts
// Prints:
//   without a lock: 7 instead of 12
//   with a lock: 12
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const locks = createLocks()
let total = 0

async function add(amount: number): Promise<void> {
  const before = total
  await sleep(10)
  total = before + amount
}

await Promise.all([add(5), add(7)])
console.log(`without a lock: ${total} instead of 12`)

total = 0
await Promise.all([locks.using('total', () => add(5)), locks.using('total', () => add(7))])
console.log(`with a lock: ${total}`)

await locks.close()
