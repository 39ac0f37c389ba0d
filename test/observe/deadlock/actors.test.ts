import { AsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { ConflictError, createLocks, type Lease } from 'holdfast'
import { memory } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { MemoryWorld } from '../../../src/stores/memory/world.ts'
import { Gate, membersOf, nested, outcomeOf, Town } from './support.ts'

const SOCKET = new AsyncResource('socket')

test('leases of acquire belong to the context that asked for them', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'abort')]
  const gate = new Gate()
  const crosswise = async (locks: typeof p, one: string, two: string) => {
    const held = await locks.acquire(one)
    try {
      await gate.opened
      await (await locks.acquire(two)).release()
      return 'done'
    } finally {
      await held.release()
    }
  }
  // Started side by side: the second one is not inside the first.
  const outcomes = [outcomeOf(crosswise(p, 'a', 'b')), outcomeOf(crosswise(q, 'b', 'a'))]
  await town.pass(10)
  gate.open()
  await town.pass(4000)
  expect(outcomes.map(({ value }) => value).filter(Boolean)).toEqual(['done'])
  expect(outcomes.map(({ error }) => error).filter(Boolean)).toEqual([expect.any(ConflictError)])
})

test.each([
  ['tasks that are started side by side', 0, (start: () => void) => start()],
  // As the messages of a socket, or the ticks of an interval.
  ['events of one resource', 10, (start: () => void) => SOCKET.runInAsyncScope(start)],
])('%s are different actors', async (_, laterMs, inside) => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const [ask, end] = [new Gate(), new Gate()]
  nested(q, 'b', 'a', ask)
  await town.pass(10)
  // One holds a and works; the other waits for b, which is held by one who waits for a.
  inside(() => void p.acquire('a').then((held) => end.opened.then(() => held.release())))
  if (laterMs > 0) await town.pass(laterMs)
  const waiting: ReturnType<typeof outcomeOf>[] = []
  inside(() => void waiting.push(outcomeOf(p.acquire('c').then(() => p.acquire('b')))))
  ask.open()
  await town.pass(10_000)
  expect(town.told).toEqual([])
  end.open()
  await town.pass(1000)
  expect(waiting.map(({ settled }) => settled)).toEqual([true])
})

test('named actors are visible without deadlock detection, to an operator', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p'), town.locks('q')]
  const held = [await p.acquire('a', { actor: 'transfer 1' }), await q.acquire('b', { actor: 'transfer 2' })]
  expect(held).toHaveLength(2)
  const waits = [outcomeOf(p.acquire('b', { actor: 'transfer 1' }))]
  await town.pass(5000)
  expect(await town.runtime.until(q.deadlocks())).toEqual([])
  waits.push(outcomeOf(q.acquire('a', { actor: 'transfer 2' })))
  await town.pass(5000)
  const cycles = await town.runtime.until(q.deadlocks())
  expect(cycles.map((cycle) => cycle.map(({ label, actor }) => `${label} ${actor}`).sort())).toEqual([
    ['p transfer 1', 'q transfer 2'],
  ])
  expect(cycles.map(membersOf)).toEqual([['p: a -> b', 'q: b -> a']])
})

test('a named actor is one actor over several contexts, and shows its name', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const gate = new Gate()
  const held = await p.acquire('a', { actor: 'order 7' })
  nested(q, 'b', 'a', gate)
  await town.pass(10)
  gate.open()
  setImmediate(() => outcomeOf(p.acquire('b', { actor: 'order 7' })))
  await town.pass(4000)
  expect(held.held).toBe(true)
  expect(town.told.map(({ cycle }) => cycle.map(({ actor }) => actor).sort())).toEqual([
    ['#1', 'order 7'],
    ['#1', 'order 7'],
  ])
})

test('keys are shown without the prefix inside, with it to an operator outside', async () => {
  const town = new Town()
  const prefix = 'shop:'
  const [p, q] = [town.locks('p', 'report', { prefix }), town.locks('q', 'report', { prefix })]
  const gate = new Gate()
  nested(p, 'a', 'b', gate)
  nested(q, 'b', 'a', gate)
  await town.pass(10)
  gate.open()
  await town.pass(4000)
  expect(town.told.map(({ cycle }) => membersOf(cycle))).toEqual(Array(2).fill(['p: a -> b', 'q: b -> a']))
  const seen = await town.runtime.until(town.locks('operator').deadlocks())
  expect(seen.map(membersOf)).toEqual([['p: shop:a -> shop:b', 'q: shop:b -> shop:a']])
})

test('without records, other processes are known by the names in the queue, and only local waits are ended', async () => {
  const town = new Town()
  const world = new MemoryWorld(town.runtime, {
    offerMs: 1000,
    keepSeqMs: 0,
    mostOffers: Number.POSITIVE_INFINITY,
  })
  const open = (label: string) =>
    town.locks(label, 'abort', { store: { ...memory({ world }), records: null } })
  const [p, q] = [open('p'), open('q')]
  const gate = new Gate()
  const local = [nested(p, 'x', 'y', gate), nested(p, 'y', 'x', gate)]
  const remote = [nested(p, 'a', 'b', gate, 'one'), nested(q, 'b', 'a', gate, 'two')]
  await town.pass(10)
  gate.open()
  await town.pass(6000)
  expect(local.map(({ value }) => value).filter(Boolean)).toEqual(['done'])
  expect(remote.map(({ settled }) => settled)).toEqual([false, false])
  const told = town.told.map(({ by, cycle, victim }) => [by, victim, ...membersOf(cycle)].join(' '))
  const actors = town.told.flatMap(({ cycle }) => cycle.map(({ actor }) => actor))
  expect([...new Set(actors)].sort()).toEqual(['#1', '#2', 'one', 'two'])
  expect(told.sort()).toEqual(['p  p: a -> b q: b -> a', 'p p p: x -> y p: y -> x', 'q  p: a -> b q: b -> a'])
})

test('the notes of a process are gone with the wait, and with the process', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const [ask, end] = [new Gate(), new Gate()]
  const wait = nested(p, 'a', 'b', ask)
  outcomeOf(q.using('b', () => end.opened))
  await town.pass(10)
  const process = (await p.read('a')).holders[0]?.actor?.slice(1)
  const note = () => p.records?.read(`deadlock:${process}`)
  ask.open()
  await town.pass(900)
  expect(await note()).toBeNull()
  await town.pass(700)
  expect(await note()).toMatchObject({ value: expect.stringContaining('"label":"p"') })
  end.open()
  await town.pass(700)
  expect(wait.value).toBe('done')
  expect(await note()).toBeNull()

  const [again, never] = [new Gate(), new Gate()]
  const last = nested(p, 'a', 'b', again)
  outcomeOf(q.using('b', () => never.opened))
  await town.pass(10)
  again.open()
  await town.pass(2000)
  expect(await note()).not.toBeNull()
  await town.runtime.until(p.close())
  expect(last.settled).toBe(true)
  expect(await q.records?.read(`deadlock:${process}`)).toBeNull()
})

test('lock coupling, the next one before the last one goes, keeps nothing of the steps behind it', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  await using locks = createLocks({ onDeadlock: 'report' })
  const heapAfter = async (steps: number): Promise<number> => {
    let last: Lease | null = null
    for (let step = 0; step < steps; step++) {
      const next: Lease = await locks.acquire(`k${step % 10}`)
      await last?.release()
      last = next
    }
    await last?.release()
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  await heapAfter(5000)
  const before = await heapAfter(5000)
  const after = await heapAfter(30_000)
  expect((after - before) / 30_000).toBeLessThan(50)
})
