// Shows: the first lock, in five lines.
// Run:   node --import tsx examples/first-lock.ts
// Prints:
//   charging order 42 under token …
import { createLocks } from 'holdfast'

const locks = createLocks()
await locks.using('order:42', async (lease) => {
  console.log(`charging order 42 under token ${lease.token}`)
})
