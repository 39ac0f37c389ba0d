import assert from 'node:assert/strict'
import { type Check, check, recording } from '../check.ts'
import { add, conflict, look, open, shop, stock, type Take, take } from '../shop.ts'

/** An order belongs to its first use. */
export const orders: readonly Check[] = [
  check('an order that took does not add, and one that added does not take', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 5)
    await a.trade(key, take('purchase', { buyer: 'me', count: 2 }))
    await a.trade(key, add('delivery', 3))
    assert.deepEqual(await b.trade(key, add('purchase', 2)), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, take('delivery', { count: 3 })), conflict('add', null, 3))
    assert.deepEqual(await b.trade(key, look), stock(6, 0, 2))
  }),

  check('an order belongs to its buyer and its count', recording, async (scene) => {
    const { a, b, key } = await shop(scene, ['x', 'y', 'z'])
    const mine = take('mine', { buyer: 'me', count: 2, holdMs: 60_000 })
    const [held, other] = await Promise.all([
      a.trade(key, mine),
      b.trade(key, { ...mine, buyer: 'you', count: 1 }),
    ])
    const kinds = [held.kind, other.kind].sort()
    assert.deepEqual(kinds, ['conflict', 'taken'], 'of two buyers at once, one must have the order')
    const [buyer, count] = held.kind === 'taken' ? (['me', 2] as const) : (['you', 1] as const)
    const others: Partial<Take>[] = [
      { buyer: 'she', count },
      { buyer, count: 3 },
      { buyer: null, count },
    ]
    for (const more of others)
      assert.deepEqual(await b.trade(key, { ...mine, ...more }), conflict('take', buyer, count))
    assert.deepEqual(await b.trade(key, look), stock(3 - count, count, 0))
    await a.trade(key, { kind: 'confirm', order: 'mine' })
    for (const more of others)
      assert.deepEqual(await a.trade(key, { ...mine, ...more }), conflict('take', buyer, count))
    assert.deepEqual(await a.trade(key, look), stock(3 - count, 0, count))
  }),

  check(
    'an order is compared before anything else, of a stock that is sold out, too',
    recording,
    async (scene) => {
      const { a, b, key } = await shop(scene, 1)
      await a.trade(key, take('mine', { buyer: 'me' }))
      const you = take('mine', { buyer: 'you', perBuyer: 1 })
      assert.deepEqual(await b.trade(key, you), conflict('take', 'me', 1))
      assert.deepEqual(await b.trade(key, { ...you, count: 2 }), conflict('take', 'me', 1))
    },
  ),

  check('an order that was refused is free', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 1)
    assert.deepEqual(await a.trade(key, take('mine', { buyer: 'me', count: 2 })), { kind: 'short', left: 1 })
    assert.deepEqual(await b.trade(key, take('mine', { buyer: 'you' })), { kind: 'taken', goods: 1 })
  }),

  check('an order that was given back still belongs to its buyer and its count', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 3)
    const mine = take('mine', { buyer: 'me', count: 2 })
    await a.trade(key, mine)
    await a.trade(key, { kind: 'giveBack', order: 'mine' })
    for (const more of [{ buyer: 'you' }, { count: 1 }])
      assert.deepEqual(await b.trade(key, { ...mine, ...more }), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, add('mine', 2)), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, mine), { kind: 'returned' })
    assert.deepEqual(await b.trade(key, look), stock(3))
  }),

  check('an order belongs to its buyer when its hold has run out', recording, async (scene) => {
    const { a, b, key } = await shop(scene, ['x', 'y'])
    const holdMs = scene.ttlMs(300)
    const mine = take('mine', { buyer: 'me', count: 2, holdMs })
    await a.trade(key, mine)
    await scene.eventually('goods must return when their hold ends', scene.endedByMs(holdMs), async () => {
      const seen = await b.trade(key, look)
      return seen.kind === 'stock' && seen.left === 2
    })
    for (const more of [{ buyer: 'you' }, { count: 1 }])
      assert.deepEqual(await b.trade(key, { ...mine, ...more }), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, { kind: 'giveBack', order: 'mine' }), { kind: 'unknown' })
    const late = { ...mine, perBuyer: 1, holdMs: null }
    assert.deepEqual(await b.trade(key, late), { kind: 'limit', has: 0 })
    assert.deepEqual(
      await b.trade(key, { ...mine, count: 1 }),
      conflict('take', 'me', 2),
      'after a refusal, too',
    )
    assert.equal((await b.trade(key, { ...mine, holdMs: 60_000 })).kind, 'taken')
    assert.deepEqual(await a.trade(key, { kind: 'confirm', order: 'mine' }), { kind: 'settled' })
    assert.deepEqual(await a.trade(key, look), stock(0, 0, 2))
  }),

  check('a delivery belongs to its goods', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 1)
    await a.trade(key, add('delivery', 4))
    assert.deepEqual(await b.trade(key, add('delivery', 5)), conflict('add', null, 4))
    assert.deepEqual(await b.trade(key, look), stock(5))
    const seats = scene.key('seats')
    await a.trade(seats, open(['x']))
    await a.trade(seats, add('delivery', ['y', 'z "1"']))
    assert.deepEqual(await b.trade(seats, add('delivery', ['y', 'z "1"'])), { kind: 'added' })
    for (const units of [['y'], ['z "1"', 'y'], ['y', 'w']])
      assert.deepEqual(await b.trade(seats, add('delivery', units)), conflict('add', null, 2))
    assert.deepEqual(await b.trade(seats, look), stock(3))
  }),

  check('a registered order is free for the same take alone', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 3)
    const mine = { order: 'mine', buyer: 'me', count: 2 } as const
    assert.deepEqual(await a.trade(key, { kind: 'compare', ...mine }), { kind: 'fits' })
    assert.deepEqual(await a.trade(key, { kind: 'compare', ...mine, buyer: 'you' }), { kind: 'fits' })
    for (const records of [a, b])
      assert.deepEqual(await records.trade(key, { kind: 'register', ...mine }), { kind: 'fits' })
    for (const kind of ['register', 'compare'] as const) {
      for (const more of [{ buyer: 'you' }, { count: 1 }])
        assert.deepEqual(await b.trade(key, { kind, ...mine, ...more }), conflict('take', 'me', 2))
    }
    assert.deepEqual(await b.trade(key, take('mine', { buyer: 'you', count: 2 })), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, add('mine', 2)), conflict('take', 'me', 2))
    assert.deepEqual(await b.trade(key, { kind: 'confirm', order: 'mine' }), { kind: 'unknown' })
    assert.deepEqual(await b.trade(key, look), stock(3))
    assert.deepEqual(await b.trade(key, take('mine', mine)), { kind: 'taken', goods: 2 })
    assert.deepEqual(await b.trade(key, { kind: 'compare', ...mine }), { kind: 'fits' })
  }),
]
