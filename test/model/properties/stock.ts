import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Deal, DealAnswer, Goods } from '../../../src/model/index.ts'
import { deals, goods } from '../deals.ts'
import type { Model } from '../explore.ts'
import { forAll, type Topic } from '../property.ts'
import { ModelShop } from '../shop.ts'

const HOLD_MS = 3_600_000
const DAY_MS = 86_400_000

const day = goods.chain((opening) => fc.tuple(fc.constant(opening), deals(opening)))
const amount = (some: Goods): number => (typeof some === 'number' ? some : some.length)

type Use = Deal & { kind: 'add' | 'take' | 'register' | 'compare' }

export const stock: Topic = {
  'nothing is lost and nothing is made: left, held, sold and moving add up': forAll(
    day,
    (model, [opening, plan]) => {
      const trade = shop(model, opening)
      let total = amount(opening)
      const added = new Set<string>()
      for (const deal of plan) {
        const before = sightOf(trade)
        const answer = trade(deal)
        if (deal.kind === 'add' && answer.kind === 'added' && !added.has(deal.order)) {
          total += amount(deal.goods)
          added.add(deal.order)
        }
        if (deal.kind === 'ship' && answer.kind === 'settled')
          total -= amount(before.moving.find(({ order }) => order === deal.order)?.goods ?? 0)
        const after = sightOf(trade)
        assert(after.left >= 0 && after.held >= 0 && after.sold >= 0)
        const moving = after.moving.reduce((sum, move) => sum + amount(move.goods), 0)
        assert.equal(after.left + after.held + after.sold + moving, total)
      }
      assert.equal(sightOf(trade, HOLD_MS + 1).held, 0, 'every hold is over after its time')
    },
  ),

  'an order belongs to its first use: the same gets the same answer, anything else changes nothing': forAll(
    day,
    (model, [opening, plan]) => {
      const trade = shop(model, opening)
      const uses = new Map<string, { readonly use: Use; taken: DealAnswer | null }>()
      for (const deal of plan) {
        const before = sightOf(trade)
        const answer = trade(deal)
        if (deal.kind === 'ship' && answer.kind === 'settled') uses.delete(deal.order)
        if (!isUse(deal)) continue
        const first = uses.get(deal.order)
        if (first === undefined) {
          assert.notEqual(answer.kind, 'conflict')
          const taken = answer.kind === 'taken' ? answer : null
          const kept = taken !== null || answer.kind === 'added' || deal.kind === 'register'
          if (kept) uses.set(deal.order, { use: deal, taken })
        } else if (isSame(first.use, deal)) {
          assert.notEqual(answer.kind, 'conflict')
          if (answer.kind !== 'taken') continue
          first.taken ??= answer
          assert.deepEqual(answer, first.taken)
        } else {
          assert.equal(answer.kind, 'conflict')
          assert.deepEqual(sightOf(trade), before)
        }
      }
    },
  ),

  'an order belongs to its buyer for a day after its hold ran out, and is forgotten then': forAll(
    fc.tuple(goods, fc.nat({ max: DAY_MS - 1 })),
    (model, [opening, laterMs]) => {
      const trade = shop(model, opening)
      const held = trade(takeOf('me', HOLD_MS))
      if (held.kind !== 'taken') return
      assert.equal(sightOf(trade, HOLD_MS).left, amount(opening))
      const other = trade(takeOf('you', null), HOLD_MS + laterMs)
      assert.deepEqual(other, { kind: 'conflict', first: { kind: 'take', buyer: 'me', count: 1 } })
      assert.deepEqual(trade({ kind: 'confirm', order: 'order' }, HOLD_MS + laterMs), { kind: 'unknown' })
      assert.equal(trade(takeOf('you', null), HOLD_MS + DAY_MS).kind, 'taken')
    },
  ),

  'an order that was given back answers so to the same take, and to nothing else': forAll(
    fc.tuple(goods, fc.option(fc.constant(HOLD_MS))),
    (model, [opening, holdMs]) => {
      const trade = shop(model, opening)
      const mine = takeOf('me', holdMs)
      if (trade(mine).kind !== 'taken') return
      assert.deepEqual(trade({ kind: 'giveBack', order: 'order' }), { kind: 'settled' })
      assert.deepEqual(trade(mine), { kind: 'returned' })
      const first = { kind: 'take', buyer: 'me', count: 1 }
      assert.deepEqual(trade(takeOf('you', holdMs)), { kind: 'conflict', first })
      assert.equal(sightOf(trade, HOLD_MS).left, amount(opening))
    },
  ),

  'a hold returns at its time, whatever holds were made before and after it': forAll(
    fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 40 }),
    (model, times) => {
      const trade = shop(model, times.length)
      for (const [place, holdMs] of times.entries()) trade({ ...takeOf('me', holdMs), order: `${place}` })
      for (let wallMs = 1; wallMs <= 51; wallMs++) {
        const left = times.filter((holdMs) => holdMs <= wallMs).length
        const { left: found, held } = sightOf(trade, wallMs)
        assert.deepEqual([found, held], [left, times.length - left])
      }
    },
  ),

  'units are handed out once each and in their order, also out of large deliveries': forAll(
    fc.tuple(
      fc.array(fc.nat({ max: 450 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 130 }),
    ),
    (model, [deliveries, count]) => {
      let next = 0
      const units = (size: number) => Array.from({ length: size }, () => `unit ${next++}`)
      const trade = shop(model, units(deliveries[0] as number))
      for (const [place, size] of deliveries.slice(1).entries())
        trade({ kind: 'add', order: `delivery ${place}`, goods: units(size) })
      const found: string[] = []
      for (let order = 0; ; order++) {
        const answer = trade({ ...takeOf('me', null), order: `${order}`, count })
        if (answer.kind !== 'taken') break
        found.push(...(answer.goods as string[]))
      }
      const all = Array.from({ length: next - (next % count) }, (_, unit) => `unit ${unit}`)
      assert.deepEqual(found, all)
    },
  ),
}

type Trade = (deal: Deal, wallMs?: number) => DealAnswer

function shop(model: Model, opening: Goods): Trade {
  const shop = new ModelShop(model)
  const trade: Trade = (deal, wallMs) => shop.trade(deal, wallMs)
  trade({ kind: 'open', goods: opening, ttlMs: null })
  return trade
}

function sightOf(trade: Trade, wallMs = 0): DealAnswer & { kind: 'stock' } {
  const seen = trade({ kind: 'look' }, wallMs)
  assert(seen.kind === 'stock')
  return seen
}

function takeOf(buyer: string, holdMs: number | null): Deal & { kind: 'take' } {
  return { kind: 'take', order: 'order', buyer, count: 1, perBuyer: null, holdMs }
}

function isUse(deal: Deal): deal is Use {
  return deal.kind === 'add' || deal.kind === 'take' || deal.kind === 'register' || deal.kind === 'compare'
}

function isSame(first: Use, next: Use): boolean {
  if (first.kind === 'add')
    return next.kind === 'add' && JSON.stringify(first.goods) === JSON.stringify(next.goods)
  return next.kind !== 'add' && first.buyer === next.buyer && first.count === next.count
}
