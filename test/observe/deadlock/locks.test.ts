import { ConflictError, type DeadlockStep, InvalidArgumentError } from 'holdfast'
import { expect, test } from 'vitest'
import { Gate, membersOf, nested, outcomeOf, Town } from './support.ts'

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

test('one of the waits is local to its process', async () => {
  const town = new Town()
  const [p, q] = [town.locks('p', 'abort'), town.locks('q', 'abort')]
  const gate = new Gate()
  const outcomes = [nested(p, 'a', 'c', gate), nested(p, 'c', 'b', gate), nested(q, 'b', 'a', gate)]
  await town.pass(10)
  gate.open()
  await town.pass(5000)
  expect((await p.read('c')).queue).toEqual([])
  expect(outcomes.filter(({ value }) => value === 'done')).toHaveLength(2)
  const [victim] = outcomes.filter(({ error }) => error !== undefined)
  expect(membersOf((victim as { error: ConflictError }).error.cycle ?? [])).toEqual([
    'p: a -> c',
    'p: c -> b',
    'q: b -> a',
  ])
})

test('a hold that was handed over counts for its present holder', async () => {
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

test('an actor that requests its own key again, without re-entry, waits for itself', async () => {
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

test('three in a cycle, and a waiter behind them: one gives up, the others finish', async () => {
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

test('the option is checked', () => {
  const town = new Town()
  expect(() => town.locks('p', 'stop' as 'abort')).toThrow(InvalidArgumentError)
})

test('a cycle that a slow process does not confirm in time is reported by the doctor as likely', async () => {
  const town = new Town()
  // Every answer takes so long that two publications take longer than anybody looks.
  town.lookMs = 700
  const [p, q] = [town.locks('p', 'report'), town.locks('q', 'report')]
  town.lookMs = 0
  const looker = town.locks('operator')
  const gate = new Gate()
  nested(p, 'a', 'b', gate)
  nested(q, 'b', 'a', gate)
  await town.pass(10)
  gate.open()
  await town.pass(6000)
  // The doctor is loaded when it is asked for; the first time that takes real time, which the clock of the town has none of.
  await import('../../../src/observe/doctor/examine.ts')
  const { findings } = await town.runtime.until(looker.doctor({ watch: 0 }))
  const told = findings.flatMap(({ code, severity, evidence }) =>
    code === 'DEADLOCK' ? [`${severity} ${evidence}`] : [],
  )
  expect(told).toEqual([expect.stringMatching(/^warning perhaps: .*not proven/)])
})
