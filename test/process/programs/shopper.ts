import { connect } from 'holdfast'
import type { ShopOrder } from '../support/messages.ts'

/** Buys for a range of buyers, many at once, one request in ten sent twice, and tells what each of them got. */
const { url, from, to } = JSON.parse(process.argv[2] as string) as ShopOrder
const AT_ONCE = 25

const locks = await connect(url)
const sale = locks.inventory('flash', { perBuyer: 1 })
let next = from

async function till(): Promise<void> {
  for (let buyer = next++; buyer < to; buyer = next++) {
    const take = () => sale.take(`buyer ${buyer}`, { request: `request ${buyer}` })
    const answers = await Promise.all(buyer % 10 === 0 ? [take(), take()] : [take()])
    for (const answer of answers) {
      const unit = answer.kind === 'taken' ? answer.units.join() : answer.kind
      process.stdout.write(`${buyer} ${unit}\n`)
    }
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, till))
await locks.close()
