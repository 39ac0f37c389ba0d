import type { LocksOptions } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { failure, Scene } from './support.ts'

test('several free keys are taken in one call and released together', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  const group = await scene.runtime.until(locks.all(['b', 'a', 'c']))
  expect(group.leases.map((lease) => lease.key)).toEqual(['a', 'b', 'c'])
  expect(sizes.attempt).toEqual([3])
  expect(group.held).toBe(true)
  expect(await scene.runtime.until(group.release())).toBe('released')
  expect(sizes.release).toEqual([3])
})

test('a key that is not free is waited for, and until then none is held that others could need', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('y'))
  const group = b.locks.all(['x', 'y', 'z'])
  await scene.runtime.advance(50)
  expect((await a.locks.read('z')).holders).toEqual([])
  await scene.runtime.until(holder.release())
  expect((await scene.runtime.until(group)).held).toBe(true)
})

test('never half: a time-out gives everything back', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  await scene.runtime.until(a.locks.acquire('y'))
  const error = await scene.runtime.until(failure(b.locks.all(['x', 'y'], { wait: 500 })))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'y' })
  await scene.runtime.drain()
  expect((await a.locks.read('x')).holders).toEqual([])
})

test('overlapping groups in any order never deadlock', async () => {
  const scene = new Scene()
  const parties = [scene.party(), scene.party(), scene.party()]
  const orders = [
    ['a', 'b', 'c'],
    ['c', 'b', 'a'],
    ['b', 'a', 'c'],
  ]
  let inside = 0
  const run = async (n: number) => {
    for (let round = 0; round < 20; round++) {
      const group = await (parties[n] as (typeof parties)[0]).locks.all(orders[n] as string[], {
        wait: '10m',
      })
      expect(++inside).toBe(1)
      await new Promise<void>((resolve) => {
        scene.runtime.setTimer(resolve, 5, false)
      })
      inside--
      await group.release()
    }
  }
  await scene.runtime.until(Promise.all([run(0), run(1), run(2)]))
})

test('one lost key loses the group', async () => {
  const scene = new Scene()
  const { locks } = scene.party()
  const group = await scene.runtime.until(locks.all(['a', 'b']))
  let lost = 0
  group.signal.addEventListener('abort', () => lost++)
  await locks.evict('b')
  await scene.runtime.drain()
  expect(group.held).toBe(false)
  expect(lost).toBe(1)
  expect(await scene.runtime.until(group.release())).toBe('expired')
})

test('a key that is lost while others are waited for is asked for again', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const holder = await scene.runtime.until(a.locks.acquire('y'))
  const group = b.locks.all(['x', 'y'], { wait: 5000 })
  await scene.runtime.advance(50)
  expect(await a.locks.evict('x')).toHaveLength(1)
  await scene.runtime.until(holder.release())
  const { held, leases } = await scene.runtime.until(group)
  expect(held).toBe(true)
  expect(leases.map(({ key }) => key)).toEqual(['x', 'y'])
  expect((await a.locks.read('x')).holders).toHaveLength(1)
})

test('a loss is an error when there is no time left', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  Object.assign(b.locks.traits, { groups: false })
  b.faults.next('attempt', { kind: 'none' }, { kind: 'delay', ms: 200 })
  const group = failure(b.locks.all(['x', 'y'], { wait: 0 }))
  await scene.runtime.advance(100)
  expect(await a.locks.evict('x')).toHaveLength(1)
  expect((await scene.runtime.until(group)).code).toBe('LEASE_LOST')
  await scene.runtime.drain()
  expect((await a.locks.read('y')).holders).toEqual([])
})

test('a store without groups takes the keys in one global order', async () => {
  const scene = new Scene()
  const { locks, sizes } = scene.party()
  Object.assign(locks.traits, { groups: false })
  const group = await scene.runtime.until(locks.all(['b', 'a']))
  expect(sizes.attempt).toEqual([1, 1])
  await scene.runtime.until(group.release())
})

test('closing while a group is being asked for leaves nothing behind', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const gate = a.faults.hang('attempt', 'reply')
  const group = failure(a.locks.all(['x', 'y']))
  await gate.reached
  await scene.runtime.until(a.locks.close())
  expect((await group).code).toBe('CLOSED')
  expect((await b.locks.read('x')).holders).toEqual([])
  expect((await b.locks.read('y')).holders).toEqual([])
})

test('closing after a group could not be asked for sends nothing more', async () => {
  const scene = new Scene()
  const { locks, faults, calls } = scene.party({ callTimeout: 500 })
  faults.hang('attempt')
  const group = failure(locks.all(['x', 'y']))
  await scene.runtime.advance(100)
  faults.every('release', { kind: 'delay', ms: 450 })
  const closing = locks.close()
  expect((await scene.runtime.until(group)).code).toBe('CLOSED')
  await scene.runtime.until(closing)
  // Only the one that hung, and that the end of the faults let through.
  expect(calls.attempt).toBe(1)
})

test('a signal that is aborted already asks for nothing, for several keys as for an adoption', async () => {
  const scene = new Scene()
  const { locks, calls } = scene.party()
  const lease = await scene.runtime.until(locks.acquire('a'))
  const json = lease.toJSON()
  const before = calls.attempt
  const signal = AbortSignal.abort(new Error('too late'))
  await expect(locks.all(['x', 'y'], { signal, wait: '1h' })).rejects.toThrow('too late')
  await expect(locks.all(['x'], { signal, wait: '1h' })).rejects.toThrow('too late')
  await expect(locks.adopt(json, { signal })).rejects.toThrow('too late')
  expect(calls.attempt).toBe(before)
})

test('a signal ends the joint attempt at once, and nothing of a late grant stays', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party()
  const gate = faults.hang('attempt')
  const stop = new AbortController()
  const group = failure(locks.all(['x', 'y'], { signal: stop.signal, wait: '1h' }))
  await gate.reached
  stop.abort(new Error('enough'))
  await scene.runtime.drain()
  expect(await group).toMatchObject({ message: 'enough' })
  gate.open()
  await scene.runtime.drain()
  expect((await locks.read('x')).holders).toEqual([])
  expect((await locks.read('y')).holders).toEqual([])
})

test('a signal ends an adoption that the store does not answer', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const lease = await scene.runtime.until(a.locks.acquire('a'))
  const gate = b.faults.hang('attempt')
  const stop = new AbortController()
  const adopted = failure(b.locks.adopt(lease.toJSON(), { signal: stop.signal }))
  await gate.reached
  stop.abort(new Error('enough'))
  expect(await adopted).toMatchObject({ message: 'enough' })
})

describe('a group that the store does not answer', () => {
  async function silent(options: LocksOptions, wait: number) {
    const scene = new Scene()
    const { locks, faults } = scene.party(options)
    const told: string[] = []
    locks.on('turnedAway', ({ why }) => told.push(why))
    const gate = faults.hang('attempt')
    faults.every('attempt', { kind: 'hang', gate, at: 'request' })
    const error = await scene.runtime.until(failure(locks.all(['x', 'y'], { wait })))
    const seen = { tookMs: scene.runtime.nowMs(), told }
    gate.open()
    await scene.runtime.drain()
    const left = (await Promise.all([locks.read('x'), locks.read('y')])).flatMap(({ holders }) => holders)
    return { error, seen, left }
  }

  test.each([
    { wait: 0, tookMs: 5000, says: 'no answer within 5000 ms' },
    { wait: 2000, tookMs: 2000, says: 'the store did not answer within the wait of 2000 ms' },
    { wait: 5000, tookMs: 5000, says: 'no answer within 5000 ms' },
    { wait: 5500, tookMs: 5500, says: 'no answer within 5000 ms' },
    { wait: 8000, tookMs: 8000, says: 'no answer within 5000 ms' },
  ])('meets an outage after a wait of $wait ms', async ({ wait, says, tookMs }) => {
    const { error, seen } = await silent({ callTimeout: '5s' }, wait)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(says) })
    expect(seen).toEqual({ tookMs, told: ['failed'] })
  })

  test('ends in a time-out when the wait is shorter than an answer', async () => {
    const { error, seen } = await silent({}, 500)
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'x', answered: false, waitedMs: 500 })
    expect(seen).toEqual({ tookMs: 500, told: ['timeout'] })
  })

  test.each([500, 2000])('keeps nothing of an answer that comes after its wait of %i ms', async (wait) => {
    expect((await silent({}, wait)).left).toEqual([])
  })
})

test('an outage at the start of the wait of a group is over with the first answer', async () => {
  const scene = new Scene()
  const { locks, faults } = scene.party({ callTimeout: 800 })
  faults.next('attempt', { kind: 'lose request' }, { kind: 'none' })
  faults.hang('attempt')
  const error = await scene.runtime.until(failure(locks.all(['x', 'y'], { wait: 700 })))
  expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'y', answered: false })
})
