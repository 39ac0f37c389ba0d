// Shows: read, change and write back without a lock; who lost the race tries again, and no change is lost.
// Run:   node --import tsx examples/optimistic-update.ts
// Prints:
//   20 deposits of 5: balance 100
import { createLocks } from 'holdfast'

const locks = createLocks()
const deposit = () => locks.update<number>('balance', (balance = 0) => balance + 5, { tries: 100 })
await Promise.all(Array.from({ length: 20 }, deposit))
console.log(`20 deposits of 5: balance ${await locks.update('balance', () => undefined)}`)
await locks.close()
