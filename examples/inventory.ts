// Shows: 500 buyers, 10 seats, two per buyer at most: each seat is sold once, and a hold that is not paid returns.
// Run:   node --import tsx examples/inventory.ts
// Prints:
//   sold 10 of 10 seats, each once
//   the same request again: same seat
//   held 1, then free again
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'

const locks = createLocks()
const sale = locks.inventory('concert', { perBuyer: 2 })
const seats = Array.from({ length: 10 }, (_, number) => `seat ${number + 1}`)
await sale.stock(seats)

const first = await sale.take('ann', { request: 'cart 1' })
const again = await sale.take('ann', { request: 'cart 1' })
const orders = await Promise.all(Array.from({ length: 500 }, (_, buyer) => sale.take(`buyer ${buyer}`)))
const sold = [first, ...orders].flatMap((order) => (order.kind === 'taken' ? order.units : []))
console.log(
  `sold ${await sale.sold()} of ${seats.length} seats, each ${new Set(sold).size === 10 ? 'once' : 'NOT once'}`,
)
const same = first.kind === 'taken' && again.kind === 'taken' && first.units[0] === again.units[0]
console.log(`the same request again: ${same ? 'same seat' : 'ANOTHER seat'}`)

const cart = locks.inventory('books', { hold: 50 })
await cart.stock(1)
await cart.take('bob')
const held = await cart.held()
await sleep(60)
console.log(`held ${held}, then ${(await cart.remaining()) === 1 ? 'free again' : 'GONE'}`)
await locks.close()
