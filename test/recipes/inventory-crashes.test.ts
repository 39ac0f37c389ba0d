import { createLocks, type Inventory, type Locks, type Taken } from 'holdfast'
import { type Fault, type FaultyStore, faulty } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { memory, memoryWorld } from '../../src/stores/memory/index.ts'
import { FakeRuntime } from '../../src/testing/fake-runtime.ts'

interface Process {
  readonly store: FaultyStore
  readonly locks: Locks
  readonly shop: Inventory
}

/** Processes with an inventory of the same name, each with a connection that can fail. */
function processes(runtime: FakeRuntime, count: number, options = {}): Process[] {
  const world = memoryWorld(runtime)
  return Array.from({ length: count }, () => {
    const store = faulty(memory({ world }), runtime)
    const locks = createLocks({ store, runtime })
    return { store, locks, shop: locks.inventory('sale', options) }
  })
}

async function ledgerOf(runtime: FakeRuntime, { shop }: Process): Promise<number[]> {
  return runtime.until(Promise.all([shop.remaining(), shop.held(), shop.sold()]))
}

const lost: readonly Fault[] = [{ kind: 'lose request' }, { kind: 'lose reply' }]

describe.each([
  ['counted goods', 10],
  ['named units', Array.from({ length: 10 }, (_, seat) => `seat ${seat}`)],
] as const)('%s', (_, goods) => {
  /** Every call of a take fails in turn, in both ways, and nothing of the process goes through after it. */
  test.each(lost)(
    'a process that dies at any call of a take ($kind) leaves it done or undone',
    async (fault) => {
      for (let survived = 0; survived < 12; survived++) {
        const runtime = new FakeRuntime()
        const [dying, next] = processes(runtime, 2) as [Process, Process]
        await runtime.until(next.shop.stock(goods))
        await runtime.until(dying.shop.take('early', { request: 'early' }))
        const through = Array.from({ length: survived }, () => ({ kind: 'none' }) as const)
        dying.store.faults.every('records', { kind: 'lose request' })
        dying.store.faults.next('records', ...through, fault)
        const mine = { request: 'mine', count: 2 }
        const answer = await runtime.until(dying.shop.take('me', mine).catch(() => null))
        const again = await runtime.until(next.shop.take('me', mine))
        expect(again).toMatchObject({ kind: 'taken', count: 2 })
        if (answer !== null) expect(again).toEqual(answer)
        expect(await ledgerOf(runtime, next), `after ${survived} calls`).toEqual([7, 0, 3])
        const rest = await runtime.until(next.shop.take('you', { count: 7 }))
        expect(rest.kind).toBe('taken')
        expect(await ledgerOf(runtime, next)).toEqual([0, 0, 10])
      }
    },
  )

  test('a process that dies while it gives back leaves the goods to one order', async () => {
    for (let survived = 0; survived < 8; survived++) {
      const runtime = new FakeRuntime()
      const [dying, next] = processes(runtime, 2, { perBuyer: 10 }) as [Process, Process]
      await runtime.until(next.shop.stock(goods))
      const taken = await runtime.until(dying.shop.take('me', { request: 'mine', count: 10 }))
      if (taken.kind !== 'taken') throw new Error('not taken')
      dying.store.faults.every('records', { kind: 'lose request' })
      dying.store.faults.next(
        'records',
        ...Array.from({ length: survived }, () => ({ kind: 'none' }) as const),
      )
      await runtime.until(dying.shop.giveBack(taken.order).catch(() => null))
      expect(await runtime.until(next.shop.giveBack(taken.order))).toBe(true)
      expect(await ledgerOf(runtime, next)).toEqual([10, 0, 0])
      const again = await runtime.until(next.shop.take('me', { count: 10 }))
      expect(again.kind).toBe('taken')
    }
  })

  test('a process that stands still in the middle of a step writes over nothing that came after it', async () => {
    for (let call = 0; call < 14; call++) {
      const runtime = new FakeRuntime()
      const [slow, next] = processes(runtime, 2) as [Process, Process]
      await runtime.until(next.shop.stock(goods))
      slow.store.faults.next('records', ...Array.from({ length: call }, () => ({ kind: 'none' }) as const))
      const gate = slow.store.faults.hang('records')
      const mine = slow.shop.take('me', { request: 'mine', count: 2 }).catch(() => null)
      await runtime.advance(10)
      const again = await runtime.until(next.shop.take('me', { request: 'mine', count: 2 }))
      if (again.kind === 'taken') await runtime.until(next.shop.giveBack(again.order))
      // The journal of the last step heals what that step wrote; what comes late is older.
      await runtime.until(next.shop.take('other'))
      gate.open()
      await runtime.until(mine)
      await runtime.advance(10)
      expect(await runtime.until(next.shop.take('me', { request: 'mine', count: 2 }))).toEqual({
        kind: 'givenBack',
      })
      expect(await ledgerOf(runtime, next)).toEqual([9, 0, 1])
      const [third] = [createLocks({ store: next.store, runtime }).inventory('sale', { perBuyer: 10 })]
      expect(await runtime.until(third.take('me', { request: 'mine', count: 2 }))).toEqual({
        kind: 'givenBack',
      })
      expect(await runtime.until(third.take('me', { count: 9 }))).toMatchObject({ kind: 'taken' })
    }
  })

  test('a write that comes late changes nothing that came after it', async () => {
    const runtime = new FakeRuntime()
    const [late, next] = processes(runtime, 2) as [Process, Process]
    await runtime.until(next.shop.stock(goods))
    for (let call = 0; call < 12; call++) {
      const through = Array.from({ length: call }, () => ({ kind: 'none' }) as const)
      late.store.faults.next('records', ...through, { kind: 'duplicate', afterMs: 500 })
      const taken = await runtime.until(late.shop.take('me', { count: 2 }))
      if (taken.kind !== 'taken') throw new Error('not taken')
      await runtime.until(next.shop.giveBack(taken.order))
      const mine = await runtime.until(next.shop.take('you', { count: 9 }))
      await runtime.advance(1000)
      expect(await runtime.until(next.shop.giveBack(taken.order))).toBe(true)
      expect(await ledgerOf(runtime, next)).toEqual([1, 0, 9])
      if (mine.kind === 'taken') await runtime.until(next.shop.giveBack(mine.order))
      late.store.faults.heal()
    }
  })

  test.each([1, 4])(
    '64 buyers of 8 processes with failing connections, %i stripes: nothing sold twice, nothing lost',
    async (stripes) => {
      const runtime = new FakeRuntime()
      const all = processes(runtime, 8, { stripes, perBuyer: 2 })
      const many = typeof goods === 'number' ? 40 : Array.from({ length: 40 }, (_, seat) => `seat ${seat}`)
      await runtime.until((all[0] as Process).shop.stock(many))
      const kinds: Fault['kind'][] = ['lose request', 'lose reply']
      for (const [number, { store }] of all.entries()) {
        const script = Array.from({ length: 200 }, (_, call): Fault => {
          const dice = (call * 31 + number * 17) % 11
          if (dice < 2) return { kind: kinds[dice] as 'lose request' }
          return dice === 3 ? { kind: 'delay', ms: 20 } : { kind: 'none' }
        })
        store.faults.next('records', ...script)
      }
      const buy = async (buyer: number): Promise<Taken> => {
        const { shop } = all[buyer % all.length] as Process
        for (let tries = 0; tries < 60; tries++) {
          try {
            return await shop.take(`buyer ${buyer}`, { request: `cart ${buyer}` })
          } catch (error) {
            if ((error as { code: string }).code === 'CONFLICT') throw error
          }
        }
        throw new Error('never answered')
      }
      const answers = await runtime.until(Promise.all(Array.from({ length: 64 }, (_, buyer) => buy(buyer))))
      for (const { store } of all) store.faults.heal()
      const taken = answers.filter((answer) => answer.kind === 'taken')
      expect(taken).toHaveLength(40)
      expect(await ledgerOf(runtime, all[3] as Process)).toEqual([0, 0, 40])
      const units = taken.flatMap((answer) => answer.units)
      if (typeof goods !== 'number') expect(units.sort()).toEqual([...(many as string[])].sort())
      for (const { order } of taken) await runtime.until((all[5] as Process).shop.giveBack(order))
      expect(await ledgerOf(runtime, all[1] as Process)).toEqual([40, 0, 0])
    },
  )
})

test('a stock of an earlier build is refused', async () => {
  await using locks = createLocks()
  const stock = { opening: 9, left: 9, sold: 0, orders: {}, buyers: {} }
  await locks.records?.write('inventory:old', JSON.stringify(stock), null, { kind: 'always' })
  const shop = locks.inventory('old')
  await expect(shop.stock(9)).rejects.toThrow(/no stock of this format/)
  await expect(shop.take('me')).rejects.toThrow(/no stock of this format/)
})

test('a stock ends with its ttl, and its cells with it', async () => {
  const runtime = new FakeRuntime()
  const [one] = processes(runtime, 1) as [Process]
  await runtime.until(one.shop.stock(['a', 'b'], { ttl: '1m' }))
  await runtime.until(one.shop.take('me', { request: 'r' }))
  await runtime.advance(60_001)
  await expect(runtime.until(one.shop.take('me'))).rejects.toThrow(/there is no stock/)
  await runtime.until(one.shop.stock(['c']))
  expect(await ledgerOf(runtime, one)).toEqual([1, 0, 0])
  expect(await runtime.until(one.shop.take('me', { request: 'r' }))).toMatchObject({ units: ['c'] })
})
