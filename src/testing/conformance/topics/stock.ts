import assert from 'node:assert/strict'
import { type Check, check, recording } from '../check.ts'
import { look, open, shop, stock, take } from '../shop.ts'

const taking: readonly Check[] = [
  check('a stock is opened once, whoever asks', recording, async (scene) => {
    const { a, b, key } = await shop(scene)
    assert.deepEqual(await a.trade(key, look), { kind: 'absent' })
    assert.deepEqual(await a.trade(key, take('early')), { kind: 'absent' })
    assert.deepEqual(await a.trade(key, open(5)), { kind: 'opened', created: true, goods: 5 })
    assert.deepEqual(await b.trade(key, open(7)), { kind: 'opened', created: false, goods: 5 })
    assert.deepEqual(await b.trade(key, look), stock(5))
  }),

  check('counted goods are taken all or nothing, never below zero', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 5)
    assert.deepEqual(await a.trade(key, take('one', { count: 3 })), { kind: 'taken', goods: 3 })
    assert.deepEqual(await b.trade(key, take('two', { count: 3 })), { kind: 'short', left: 2 })
    assert.deepEqual(await b.trade(key, take('three', { count: 2 })), { kind: 'taken', goods: 2 })
    assert.deepEqual(await b.trade(key, look), stock(0, 0, 5))
  }),

  check('many who take at once never take more than there is', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 7)
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? a : b).trade(key, take(`order ${index}`))),
    )
    assert.equal(answers.filter(({ kind }) => kind === 'taken').length, 7)
    assert.deepEqual(await a.trade(key, look), stock(0, 0, 7))
  }),

  check('named units are handed out once each, from the front', recording, async (scene) => {
    const units = ['seat 1', 'seat 2', 'sitz "3"', '座席 4', 'seat 5']
    const { a, b, key } = await shop(scene, units)
    assert.deepEqual(await a.trade(key, take('first', { count: 2 })), {
      kind: 'taken',
      goods: units.slice(0, 2),
    })
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) => (index % 2 ? a : b).trade(key, take(`order ${index}`))),
    )
    const rest = answers.flatMap((answer) => (answer.kind === 'taken' ? (answer.goods as string[]) : []))
    assert.deepEqual(rest.sort(), units.slice(2).sort(), 'every unit must be taken once')
  }),

  check('the same order takes once and answers the same', recording, async (scene) => {
    const { a, b, key } = await shop(scene, ['x', 'y', 'z'])
    const answers = await Promise.all(
      [a, b, a, b].map((records) => records.trade(key, take('again', { count: 2 }))),
    )
    for (const answer of answers) assert.deepEqual(answer, { kind: 'taken', goods: ['x', 'y'] })
    assert.deepEqual(await a.trade(key, look), stock(1, 0, 2))
  }),

  check('a buyer has at most the limit, also at once', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 10)
    const mine = (index: number) => take(`order ${index}`, { buyer: 'me', perBuyer: 2 })
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => (index % 2 ? a : b).trade(key, mine(index))),
    )
    assert.equal(answers.filter(({ kind }) => kind === 'taken').length, 2)
    assert.deepEqual(await a.trade(key, mine(9)), { kind: 'limit', has: 2 })
    const other = take('of another', { buyer: 'you', perBuyer: 2, count: 2 })
    assert.deepEqual(await a.trade(key, other), { kind: 'taken', goods: 2 })
  }),

  check('names from outside are only names', recording, async (scene) => {
    const { a, key } = await shop(scene, 20)
    for (const name of ['__proto__', 'constructor', 'left', 'sold', 'a:b', ' ', '🔒', `it's "x" \\ {y}`]) {
      const deal = take(name, { buyer: name, perBuyer: 1 })
      assert.deepEqual(await a.trade(key, deal), { kind: 'taken', goods: 1 }, name)
      assert.deepEqual(await a.trade(key, deal), { kind: 'taken', goods: 1 }, name)
      assert.deepEqual(await a.trade(key, { ...deal, order: `${name}+` }), { kind: 'limit', has: 1 }, name)
    }
    assert.deepEqual(await a.trade(key, look), stock(12, 0, 8))
  }),
]

const settling: readonly Check[] = [
  check('a hold is sold when it is confirmed, and only then', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 3)
    await a.trade(key, take('held', { count: 2, holdMs: 60_000 }))
    assert.deepEqual(await b.trade(key, look), stock(1, 2, 0))
    assert.deepEqual(await b.trade(key, { kind: 'confirm', order: 'held' }), { kind: 'settled' })
    assert.deepEqual(await a.trade(key, { kind: 'confirm', order: 'held' }), { kind: 'settled' }, 'again')
    assert.deepEqual(await a.trade(key, look), stock(1, 0, 2))
    assert.deepEqual(await a.trade(key, { kind: 'confirm', order: 'nobody' }), { kind: 'unknown' })
  }),

  check('a hold that is not confirmed returns by itself', recording, async (scene) => {
    const { a, b, key } = await shop(scene, ['x', 'y'])
    const holdMs = scene.ttlMs(300)
    const mine = take('held', { buyer: 'me', perBuyer: 2, count: 2, holdMs })
    await a.trade(key, mine)
    await scene.eventually('goods must return when their hold ends', scene.endedByMs(holdMs), async () => {
      const seen = await b.trade(key, look)
      return seen.kind === 'stock' && seen.left === 2 && seen.held === 0
    })
    assert.deepEqual(await a.trade(key, { kind: 'confirm', order: 'held' }), { kind: 'unknown' })
    assert.equal(
      (await a.trade(key, { ...mine, holdMs: null })).kind,
      'taken',
      'the buyer has nothing any more',
    )
  }),

  check(
    'what is given back can be taken by another, and the order stays given back',
    recording,
    async (scene) => {
      const { a, b, key } = await shop(scene, ['x'])
      const mine = take('mine', { buyer: 'me', perBuyer: 1 })
      await a.trade(key, mine)
      assert.deepEqual(await a.trade(key, { kind: 'giveBack', order: 'mine' }), { kind: 'settled' })
      assert.deepEqual(await a.trade(key, { kind: 'giveBack', order: 'mine' }), { kind: 'settled' }, 'again')
      assert.deepEqual(await a.trade(key, mine), { kind: 'returned' }, 'a late duplicate must not take again')
      assert.deepEqual(await a.trade(key, { kind: 'confirm', order: 'mine' }), { kind: 'returned' })
      assert.deepEqual(await b.trade(key, look), stock(1))
      assert.deepEqual(await b.trade(key, take('other')), { kind: 'taken', goods: ['x'] })
      assert.deepEqual(await b.trade(key, { kind: 'giveBack', order: 'nobody' }), { kind: 'unknown' })
    },
  ),

  check('goods are added once per order, of the same kind', recording, async (scene) => {
    const { a, b, key } = await shop(scene, 1)
    for (const records of [a, b]) {
      assert.deepEqual(await records.trade(key, { kind: 'add', order: 'delivery', goods: 4 }), {
        kind: 'added',
      })
    }
    assert.deepEqual(await a.trade(key, { kind: 'add', order: 'odd', goods: ['x'] }), { kind: 'unfit' })
    assert.deepEqual(await a.trade(key, look), stock(5))
  }),

  check('goods on their way stay visible until they are let go', recording, async (scene) => {
    const { a, b, key } = await shop(scene, ['x', 'y'])
    await a.trade(key, take('move', { buyer: null }))
    assert.deepEqual(await b.trade(key, look), { ...stock(1), moving: [{ order: 'move', goods: ['x'] }] })
    assert.deepEqual(await b.trade(key, { kind: 'ship', order: 'move' }), { kind: 'settled' })
    assert.deepEqual(await b.trade(key, { kind: 'ship', order: 'move' }), { kind: 'unknown' })
    assert.deepEqual(await a.trade(key, look), stock(1))
  }),

  check('a stock ends with its ttl', recording, async (scene) => {
    const { a, b, key } = await shop(scene)
    const ttlMs = scene.ttlMs(300)
    await a.trade(key, { kind: 'open', goods: ['x', 'y'], ttlMs })
    await a.trade(key, take('held', { holdMs: 60_000 }))
    await scene.eventually('a stock must end with its ttl', scene.endedByMs(ttlMs), async () => {
      return (await b.trade(key, look)).kind === 'absent'
    })
    assert.deepEqual(await b.trade(key, open(['z'])), { kind: 'opened', created: true, goods: ['z'] })
    assert.deepEqual(await b.trade(key, look), stock(1), 'nothing of the old stock is left')
  }),
]

export const stocks: readonly Check[] = [...taking, ...settling]
