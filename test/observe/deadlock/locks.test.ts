import { AsyncResource } from 'node:async_hooks'
import { ConflictError, type DeadlockStep, InvalidArgumentError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { expect, test } from 'vitest'
import { MemoryWorld } from '../../../src/stores/memory/world.ts'
import { Gate, membersOf, nested, outcomeOf, Town } from './support.ts'

const SOCKET = new AsyncResource('socket')

test('two processes that lock a and b crosswise: one gives up with an error that names the cycle, and both finish', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'abort')]
  const [early, late] = [new Gate(), new Gate()]
  const first = nested(p, 'a', 'b', early)
  const second = nested(q, 'b', 'a', late)
  await town.pass(10)
  early.open()
  await town.pass(100)
  late.open()
  await town.pass(4000)
  // The wait that began last is the one that ends.
  expect(second.error).toBeInstanceOf(ConflictError)
  expect(first.value).toBe('done')
  const { message, cycle, code } = second.error as ConflictError
  expect(code).toBe('CONFLICT')
  expect(membersOf(cycle ?? [])).toEqual(['p: a -> b', 'q: b -> a'])
  expect(message).toContain('waiting for "a" would never end')
  expect(message).toContain('p (#1) holds "a" and waits for "b"')
  expect(town.told.filter(({ by }) => by === 'q')).toEqual([{ by: 'q', cycle, victim: 'q' }])
  expect(await p.deadlocks()).toEqual([])
})

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

test('one of the waits is local to its process', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'abort')]
  const gate = new Gate()
  const outcomes = [nested(p, 'a', 'c', gate), nested(p, 'c', 'b', gate), nested(q, 'b', 'a', gate)]
  await town.pass(10)
  gate.open()
  await town.pass(5000)
  expect((await p.read('c')).line).toEqual([])
  expect(outcomes.filter(({ value }) => value === 'done')).toHaveLength(2)
  const [victim] = outcomes.filter(({ error }) => error !== undefined)
  expect(membersOf((victim as { error: ConflictError }).error.cycle ?? [])).toEqual([
    'p: a -> c',
    'p: c -> b',
    'q: b -> a',
  ])
})

test('a hold that was handed over counts for whom has it now', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const [handOver, end, ask] = [new Gate(), new Gate(), new Gate()]
  // The store knows the claim of the first; the second has it and works, while the first waits for b.
  const former = outcomeOf(
    p.using('a', () => handOver.opened).then(() => p.using('z', () => p.using('b', () => 'done'))),
  )
  const present = outcomeOf(p.using('a', () => end.opened))
  const other = nested(q, 'b', 'a', ask)
  await town.pass(10)
  handOver.open()
  ask.open()
  await town.pass(20_000)
  expect([former.settled, present.settled, other.settled]).toEqual([false, false, false])
  expect(town.told).toEqual([])
  expect(await town.runtime.until(q.deadlocks())).toEqual([])
  end.open()
  await town.pass(1000)
  expect([former.value, other.value]).toEqual(['done', 'done'])
})

test('a hold that was handed over is found in the hands of the second', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const [handOver, ask] = [new Gate(), new Gate()]
  const former = outcomeOf(p.using('a', () => handOver.opened))
  nested(p, 'a', 'b', ask)
  nested(q, 'b', 'a', ask)
  await town.pass(10)
  const { token } = await p.read('a')
  handOver.open()
  await town.pass(10)
  ask.open()
  await town.pass(4000)
  expect(former.settled).toBe(true)
  expect((await p.read('a')).token).toBe(token)
  const told = town.told.map(({ by, cycle, victim }) => [by, membersOf(cycle), victim])
  const members = ['p: a -> b', 'q: b -> a']
  expect(told.sort()).toEqual([
    ['p', members, null],
    ['q', members, null],
  ])
})

test('to report changes nothing: the waits go on, and deadlocks() shows them to anybody', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const looker = town.locks('operator')
  const gate = new Gate()
  const outcomes = [nested(p, 'a', 'b', gate), nested(q, 'b', 'a', gate)]
  await town.pass(10)
  gate.open()
  await town.pass(10_000)
  expect(outcomes.map(({ settled }) => settled)).toEqual([false, false])
  const cycles = await town.runtime.until(looker.deadlocks())
  expect(cycles.map(membersOf)).toEqual([['p: a -> b', 'q: b -> a']])
  const [{ heldMs, waitedMs, actor }] = cycles[0] as [DeadlockStep, DeadlockStep]
  expect(actor).toBe('#1')
  expect(heldMs).toBeGreaterThanOrEqual(waitedMs)
  expect(waitedMs).toBeGreaterThan(9000)
  // Told once, not at every round.
  expect(town.told.map(({ by }) => by).sort()).toEqual(['p', 'q'])
})

test('a process that may be stopped is, when the other may not', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'report')]
  const [early, late] = [new Gate(), new Gate()]
  const [first, second] = [nested(p, 'a', 'b', early), nested(q, 'b', 'a', late)]
  await town.pass(10)
  early.open()
  await town.pass(100)
  late.open()
  await town.pass(4000)
  expect(first.error).toBeInstanceOf(ConflictError)
  expect(second.value).toBe('done')
})

test('a branch that works keeps its hold from counting; one that waits does not', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  const [ask, end] = [new Gate(), new Gate()]
  const branches = outcomeOf(
    p.using('a', async () => {
      await ask.opened
      await Promise.all([p.using('b', () => {}), p.using('c', () => end.opened)])
    }),
  )
  const other = nested(q, 'b', 'a', ask)
  await town.pass(10)
  ask.open()
  await town.pass(10_000)
  expect(town.told).toEqual([])
  end.open()
  await town.pass(4000)
  expect(town.told.map(({ by }) => by).sort()).toEqual(['p', 'q'])
  expect([branches.settled, other.settled]).toEqual([false, false])
})

test('two branches of one context that wait for each other', async () => {
  const town = new Town()
  const p = town.locks('p', 'abort')
  const ask = new Gate()
  const branches: ReturnType<typeof nested>[] = []
  const whole = outcomeOf(
    p.using('a', async () => {
      branches.push(nested(p, 'b', 'c', ask), nested(p, 'c', 'b', ask))
      await ask.opened
    }),
  )
  await town.pass(10)
  ask.open()
  await town.pass(4000)
  expect(whole.settled).toBe(true)
  expect(branches.map(({ value }) => value).filter(Boolean)).toEqual(['done'])
})

test('who asks again for what it holds, without re-entry, waits for itself', async () => {
  const town = new Town()
  const p = town.locks('p', 'abort')
  const again = outcomeOf(p.using('a', () => p.using('a', () => {})))
  await town.pass(4000)
  expect(membersOf((again.error as ConflictError).cycle ?? [])).toEqual(['p: a -> a'])
})

test('readers, permits and groups', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'abort')]
  const [one, two] = [new Gate(), new Gate()]
  const reader = outcomeOf(
    p.rw('a').read.using(async () => {
      await one.opened
      return await p.semaphore('s', { limit: 2 }).using(() => 'done')
    }),
  )
  const heavy = outcomeOf(
    q.semaphore('s', { limit: 2 }).using({ weight: 2 }, async () => {
      await two.opened
      const both = await q.all(['a', 'z'])
      await both.release()
      return 'done'
    }),
  )
  await town.pass(10)
  one.open()
  await town.pass(100)
  two.open()
  await town.pass(5000)
  expect(reader.value).toBe('done')
  expect(membersOf((heavy.error as ConflictError).cycle ?? [])).toEqual(['p: a -> s', 'q: s -> a'])
})

test('named actors are seen without looking for deadlocks, by who asks', async () => {
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

test('three in a circle, and who only waits behind them: one gives up, the others finish', async () => {
  const town = new Town()
  const gate = new Gate()
  const parties = ['p', 'q', 'r', 's'].map((label) => town.locks(label, 'abort'))
  const wishes = [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'a'],
    ['d', 'a'],
  ] as const
  const outcomes = parties.map((locks, place) => nested(locks, ...(wishes[place] as [string, string]), gate))
  await town.pass(10)
  gate.open()
  await town.pass(6000)
  expect(outcomes.filter(({ value }) => value === 'done')).toHaveLength(3)
  expect(outcomes[3]?.value).toBe('done')
  const [victim] = outcomes.filter(({ error }) => error !== undefined)
  expect((victim as { error: ConflictError }).error.cycle).toHaveLength(3)
})

test('without records, others are known by the names in the line, and only what is local is ended', async () => {
  const town = new Town()
  const world = new MemoryWorld(town.runtime, { offerMs: 1000, keepSeqMs: 0 })
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

test('what a process tells is gone with the wait, and with the process', async () => {
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

test('the option is checked', () => {
  const town = new Town()
  expect(() => town.locks('p', 'stop' as 'abort')).toThrow(InvalidArgumentError)
})
