import { createLocks, LeaseLostError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'

describe('virtual time', () => {
  test('stands still by itself', async () => {
    const runtime = new FakeRuntime()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(runtime.nowMs()).toBe(0)
  })

  test('runs timers when they are due, those due together in the order they were set', async () => {
    const runtime = new FakeRuntime()
    const rung: string[] = []
    const set = (name: string, delayMs: number) =>
      runtime.setTimer(() => rung.push(`${name} at ${runtime.nowMs()}`), delayMs, false)
    set('late', 30)
    set('first', 10)
    set('second', 10)
    set('fraction', 9.2)
    await runtime.advance(29)
    expect(rung).toEqual(['first at 10', 'second at 10', 'fraction at 10'])
    expect(runtime.nowMs()).toBe(29)
    await runtime.advance(1)
    expect(rung.at(-1)).toBe('late at 30')
  })

  test('lets promise jobs run between two timers', async () => {
    const runtime = new FakeRuntime()
    const events: string[] = []
    const follow = async () => {
      events.push('timer 1')
      for (let turn = 0; turn < 20; turn++) await null
      events.push('jobs of timer 1')
    }
    runtime.setTimer(() => void follow(), 10, false)
    runtime.setTimer(() => events.push('timer 2'), 10, false)
    await runtime.advance(10)
    expect(events).toEqual(['timer 1', 'jobs of timer 1', 'timer 2'])
  })

  test('runs what a timer sets within the same stretch', async () => {
    const runtime = new FakeRuntime()
    let ticks = 0
    const tick = () => {
      ticks++
      runtime.setTimer(tick, 10, true)
    }
    runtime.setTimer(tick, 10, true)
    await runtime.advance(100)
    expect(ticks).toBe(10)
    expect(runtime.pendingTimers).toBe(1)
  })

  test('forgets a timer that was cleared, also twice', async () => {
    const runtime = new FakeRuntime()
    let rung = 0
    const timer = runtime.setTimer(() => rung++, 10, false)
    timer.clear()
    timer.clear()
    await runtime.advance(20)
    expect([rung, runtime.pendingTimers]).toEqual([0, 0])
  })

  test('after a stall, what fell due runs late', async () => {
    const runtime = new FakeRuntime()
    const rung: number[] = []
    runtime.setTimer(() => rung.push(runtime.nowMs()), 10, false)
    runtime.stall(50)
    expect(rung).toEqual([])
    await runtime.advance(0)
    expect(rung).toEqual([50])
  })

  test('until runs for as long as it takes, and settles like the promise', async () => {
    const runtime = new FakeRuntime()
    const later = <T>(value: T, ms: number) =>
      new Promise<T>((resolve) => {
        runtime.setTimer(() => resolve(value), ms, false)
      })
    expect(await runtime.until(later('done', 3_600_000), 4_000_000)).toBe('done')
    expect(runtime.nowMs()).toBe(3_600_000)
    await expect(runtime.until(Promise.reject(new Error('no')))).rejects.toThrow('no')
    await expect(runtime.until(new Promise(() => {}))).rejects.toThrow('no timer is set')
    await expect(runtime.until(later('late', 100), 50)).rejects.toThrow('within 50 ms')
  })

  test('the wall clock goes with it and can be moved apart', async () => {
    const runtime = new FakeRuntime()
    const before = runtime.wallMs()
    await runtime.advance(10)
    expect(runtime.wallMs() - before).toBe(10)
    runtime.shiftWall(-3_600_000)
    expect([runtime.nowMs(), runtime.wallMs() - before]).toEqual([10, 10 - 3_600_000])
  })

  test('the same seed gives the same chance and the same ids', () => {
    const draw = (seed: number) => {
      const runtime = new FakeRuntime(seed)
      return [runtime.random(), runtime.newId(), runtime.newId()]
    }
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
    const [, id, other] = draw(7)
    expect(id).not.toBe(other)
    expect(Buffer.from(String(id), 'base64url')).toHaveLength(16)
  })
})

test('a user tests a critical section without waiting: a renewal keeps it, an outage ends it', async () => {
  const runtime = new FakeRuntime()
  const store = memory({ runtime })
  let down = false
  const renew: typeof store.renew = (claims) => {
    if (down) throw new Error('down')
    return store.renew(claims)
  }
  const locks = createLocks({ store: { ...store, renew }, runtime, ttl: '10s' })
  const lease = await locks.acquire('report')
  await runtime.advance(3_600_000)
  expect(lease.held).toBe(true)
  down = true
  await runtime.advance(10_000)
  expect(lease.held).toBe(false)
  expect(lease.signal.reason).toBeInstanceOf(LeaseLostError)
  await locks.close()
  expect(runtime.pendingTimers).toBe(0)
})
