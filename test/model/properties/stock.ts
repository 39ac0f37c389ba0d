import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Deal, DealAnswer, Goods, RecordState } from '../../../src/model/index.ts'
import { deals, goods } from '../deals.ts'
import { forAll, type Topic } from '../property.ts'

const day = goods.chain((opening) => fc.tuple(fc.constant(opening), deals(opening)))
const amount = (some: Goods): number => (typeof some === 'number' ? some : some.length)

export const stock: Topic = {
  'nothing is lost and nothing is made: left, held, sold and moving add up': forAll(
    day,
    (model, [opening, plan]) => {
      let record: RecordState | null = null
      let total = amount(opening)
      const added = new Set<string>()
      const clock = { nowMs: 0, stampUs: 1 }
      const trade = (deal: Deal, wallMs: number): DealAnswer => {
        const version: number = record?.version ?? 0
        const { next, answer } = model.trade(record, deal, version, clock, wallMs)
        assert((next?.version ?? 0) >= version)
        record = next
        return answer
      }
      trade({ kind: 'open', goods: opening, ttlMs: null }, 0)
      const known = new Map<string, DealAnswer>()
      for (const deal of plan) {
        const before = trade({ kind: 'look' }, 0)
        const answer = trade(deal, 0)
        if (deal.kind === 'add' && !added.has(deal.order) && !known.has(deal.order))
          total += amount(deal.goods)
        if (deal.kind === 'ship' && answer.kind === 'settled' && before.kind === 'stock') {
          total -= amount(before.moving.find(({ order }) => order === deal.order)?.goods ?? 0)
          known.delete(deal.order)
        }
        if (deal.kind === 'add') added.add(deal.order)
        if (deal.kind === 'take' && answer.kind === 'taken') {
          const earlier = known.get(deal.order)
          if (earlier !== undefined && !added.has(deal.order))
            assert.deepEqual(answer, earlier, 'the same order, the same answer')
          if (!added.has(deal.order)) known.set(deal.order, answer)
        }
        const after = trade({ kind: 'look' }, 0)
        assert(after.kind === 'stock' && after.left >= 0 && after.held >= 0 && after.sold >= 0)
        const moving = after.moving.reduce((sum, move) => sum + amount(move.goods), 0)
        assert.equal(after.left + after.held + after.sold + moving, total)
      }
      const end = trade({ kind: 'look' }, 4_000_000)
      assert(end.kind === 'stock' && end.held === 0, 'every hold is over after its time')
    },
  ),
}
