// Shows: sixteen locks for any number of products; products of one stripe wait for each other, others do not.
// Run:   node --import tsx examples/striped.ts
// Prints:
//   1000 products sold, 16 keys at most
import { createLocks } from 'holdfast'

const locks = createLocks()
const stock = locks.striped('stock', 16)
const keys = new Set<string>()
const sales = Array.from({ length: 1000 }, (_, product) =>
  stock.for(`product ${product}`).using((lease) => {
    keys.add(lease.key)
  }),
)
await Promise.all(sales)
console.log(`${sales.length} products sold, ${keys.size} keys at most`)
await locks.close()
