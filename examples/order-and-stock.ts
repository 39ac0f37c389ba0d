// Shows: two services in two processes, one for orders and one for stock, that both change the same product: a lock on
//        the product keeps "is there enough?" and "take it" together, whichever of the two asks.
// Run:   node --import tsx examples/order-and-stock.ts
// Prints:
//   20 units, 15 orders of 2 and 10 corrections of 1
//   the book is right: … taken, … left, never below zero
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast'

const [folder, service] = process.argv.slice(2)
await (folder === undefined || service === undefined ? main() : serve(folder, service))

async function main(): Promise<void> {
  const shared = mkdtempSync(join(tmpdir(), 'holdfast-example-'))
  writeFileSync(join(shared, 'left'), '20')
  writeFileSync(join(shared, 'book'), '')
  const services = ['orders', 'stock'].map((name) => fork(fileURLToPath(import.meta.url), [shared, name]))
  await Promise.all(services.map((each) => once(each, 'exit')))
  const book = readFileSync(join(shared, 'book'), 'utf8').split('\n').filter(Boolean).map(Number)
  const left = Number(readFileSync(join(shared, 'left'), 'utf8'))
  const taken = book.reduce((sum, amount) => sum + amount, 0)
  console.log('20 units, 15 orders of 2 and 10 corrections of 1')
  console.log(
    `the book is ${taken + left === 20 && left >= 0 ? 'right' : 'WRONG'}: ${taken} taken, ${left} left, never below zero`,
  )
  rmSync(shared, { recursive: true })
}

/** Orders take two at a time, the stock service writes off what was damaged. */
async function serve(shared: string, name: string): Promise<void> {
  await using locks = await connect(`sqlite:${join(shared, 'locks.db')}`)
  const [rounds, amount] = name === 'orders' ? [15, 2] : [10, 1]
  for (let round = 0; round < rounds; round++) {
    await locks.using('product:42', async () => {
      const left = Number(readFileSync(join(shared, 'left'), 'utf8'))
      await sleep(1)
      if (left < amount) return
      writeFileSync(join(shared, 'left'), String(left - amount))
      appendFileSync(join(shared, 'book'), `${amount}\n`)
    })
  }
}
