// Shows: the last 10 units wanted by 60 buyers, three ways: a lock around read and write, an optimistic update, and one atomic
//        step. All sell exactly 10; they differ in how often they go to the store and in who has to try again.
// Run:   node --import tsx examples/stock-three-ways.ts
// Prints:
//   lock: 10 sold, 0 left
//   optimistic: 10 sold, 0 left, … tries for 60 buyers
//   atomic: 10 sold, 0 left
import { createLocks } from 'holdfast'

const locks = createLocks()
const buyers = Array.from({ length: 60 }, (_, number) => `buyer ${number}`)
const count = (answers: readonly boolean[]) => answers.filter(Boolean).length

// 1. A lock: whatever happens inside is alone, also when it is slow or spans several systems.
let left = 10
const locked = await Promise.all(
  buyers.map(() =>
    locks.using('stock', async () => {
      const before = left
      await new Promise(setImmediate)
      if (before === 0) return false
      left = before - 1
      return true
    }),
  ),
)
console.log(`lock: ${count(locked)} sold, ${left} left`)

// 2. Optimistic: nobody waits, but whoever lost the race does the work again. Good when collisions are rare.
await locks.update('stock', () => 10)
let tries = 0
const optimistic = await Promise.all(
  buyers.map(async () => {
    let sold = false
    await locks.update<number>(
      'stock',
      (before = 0) => {
        tries++
        sold = before > 0
        return Math.max(0, before - 1)
      },
      { tries: 100 },
    )
    return sold
  }),
)
const rest = await locks.update<number>('stock', (now = 0) => now)
console.log(`optimistic: ${count(optimistic)} sold, ${rest} left, ${tries} tries for ${buyers.length} buyers`)

// 3. One atomic step in the store: the fastest, for what fits into one step.
const sale = locks.inventory('sale', { perBuyer: 1 })
await sale.stock(10)
const atomic = await Promise.all(buyers.map(async (buyer) => (await sale.take(buyer)).kind === 'taken'))
console.log(`atomic: ${count(atomic)} sold, ${await sale.remaining()} left`)
await locks.close()
