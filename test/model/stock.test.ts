import { describe, expect, it } from 'vitest'
import * as model from '../../src/model/index.ts'
import { stock } from './properties/stock.ts'
import { prove } from './property.ts'
import { ModelShop } from './shop.ts'

describe('stock', () => {
  prove(stock)

  it.each([
    ['counted goods', 100_000],
    ['named units', Array.from({ length: 100_000 }, (_, unit) => `seat ${unit}`)],
  ])('a take of %s touches as little at the 20,000th order as at the first', (_, goods) => {
    const shop = new ModelShop(model)
    shop.trade({ kind: 'open', goods, ttlMs: null })
    const most = { first: 0, last: 0 }
    for (let order = 0; order < 20_000; order++) {
      const buyer = `buyer ${order}`
      shop.trade({ kind: 'take', order: `${order}`, buyer, count: 1, perBuyer: 2, holdMs: 60_000 }, order)
      if (order === 1000) most.first = most.last
      if (order % 1000 === 0) most.last = 0
      most.last = Math.max(most.last, shop.touched)
    }
    expect(most.first).toBeGreaterThan(0)
    expect(most.last).toBeLessThanOrEqual(most.first + 2)
    const { head, cell } = shop.sizes()
    expect(head).toBeLessThan(400)
    expect(cell).toBeLessThan(4000)
  })

  it('a crowd of holds that run out at once returns in portions', () => {
    const portions: number[] = []
    const counting = new ModelShop({
      ...model,
      returnExpired: function* (head, cells, wallMs) {
        const next = yield* model.returnExpired(head, cells, wallMs)
        portions.push(head.holds.count - next.holds.count)
        return next
      },
    })
    counting.trade({ kind: 'open', goods: 1000, ttlMs: null })
    for (let order = 0; order < 1000; order++)
      counting.trade({ kind: 'take', order: `${order}`, buyer: 'me', count: 1, perBuyer: null, holdMs: 10 })
    expect(counting.trade({ kind: 'look' }, 10)).toMatchObject({ left: 1000, held: 0 })
    expect(Math.max(...portions)).toBeLessThanOrEqual(50)
    expect(portions.reduce((sum, portion) => sum + portion, 0)).toBe(1000)
  })
})
