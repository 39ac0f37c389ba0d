// Shows: one lock for all products, where one lock for each would do: customers of different products wait for each other.
// Run:   node --import tsx examples/mistake-too-coarse.ts
// Prints:
//   one lock for everything: at most 1 of 20 at work
//   one lock for each product: at most 20 of 20 at work
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const locks = createLocks()

async function mostAtWork(keyOf: (product: number) => string): Promise<number> {
  let working = 0
  let most = 0
  const sell = (product: number) =>
    locks.using(keyOf(product), async () => {
      most = Math.max(most, ++working)
      await sleep(2)
      working--
    })
  await Promise.all(Array.from({ length: 20 }, (_, product) => sell(product)))
  return most
}

console.log(`one lock for everything: at most ${await mostAtWork(() => 'stock')} of 20 at work`)
console.log(
  `one lock for each product: at most ${await mostAtWork((product) => `stock:${product}`)} of 20 at work`,
)
await locks.close()
