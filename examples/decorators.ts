// Shows: a method that runs under a lock, and one that runs once per order, by decorators, standard or experimental.
// Run:   node --import tsx examples/decorators.ts
// Prints:
//   sold: 1, then 2, one after the other
//   charged once: receipt 1, receipt 1
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, idempotent, locked } from 'holdfast'

const locks = createLocks()

class Shop {
  private sold = 0
  private receipts = 0

  @locked(locks, (item: string) => `item:${item}`)
  async sell(_item: string): Promise<number> {
    const before = this.sold
    await sleep(5)
    this.sold = before + 1
    return this.sold
  }

  @idempotent(locks, (order: string) => `charge:${order}`, { ttl: '24h' })
  async charge(_order: string): Promise<string> {
    return `receipt ${++this.receipts}`
  }
}

const shop = new Shop()
const [first, second] = await Promise.all([shop.sell('book'), shop.sell('book')])
console.log(`sold: ${first}, then ${second}, one after the other`)
console.log(`charged once: ${await shop.charge('42')}, ${await shop.charge('42')}`)
await locks.close()
