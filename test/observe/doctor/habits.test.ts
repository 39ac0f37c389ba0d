import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLocks, type Records } from '../../../src/index.ts'
import type { Usual } from '../../../src/observe/doctor/context.ts'
import {
  type Habits,
  mergedHabits,
  newHabit,
  readHabits,
  usuals,
} from '../../../src/observe/doctor/habits.ts'
import { addTime, countOf, quantileMs, type Times } from '../../../src/observe/doctor/histogram.ts'
import { examineTimes } from '../../../src/observe/doctor/holders.ts'
import { memory, memoryWorld } from '../../../src/stores/memory/index.ts'
import { USUAL } from './usual.ts'

describe('habits', () => {
  const of = (...times: number[]): Times => {
    const all: Times = {}
    for (const time of times) addTime(all, time)
    return all
  }

  it('a quantile is exact to half a power of two', () => {
    expect(quantileMs(of(), 0.99)).toBe(0)
    expect(quantileMs(of(0, 0.4, 1), 0.99)).toBe(1)
    expect(quantileMs(of(...Array.from({ length: 99 }, () => 100), 5000), 0.99)).toBe(128)
    expect(quantileMs(of(...Array.from({ length: 98 }, () => 100), 5000, 5000), 0.99)).toBe(5793)
  })

  it('of several processes add up, fade, and stay bounded', () => {
    const one: Habits = { 'a:*': { ...newHabit(), work: of(1, 2), ttlMs: 5, expired: 1, atMs: 10 } }
    const two: Habits = { 'a:*': { ...newHabit(), work: of(4), ttlMs: 3, atMs: 20 } }
    expect(usuals(mergedHabits(one, two))).toEqual([
      { pattern: 'a:*', holds: 3, closedP99Ms: 0, workP99Ms: 4, ttlMs: 5, expired: 1 },
    ])
    expect(Object.keys(one['a:*']?.work ?? {})).toHaveLength(2)
    const many: Habits = { 'a:*': { ...newHabit(), work: { 0: 10_001, 9: 1 } } }
    expect(countOf(mergedHabits(many, {})['a:*']?.work ?? {})).toBe(10_002)
    expect(mergedHabits(many, two)['a:*']?.work).toEqual({ 0: 5000 })
    const crowd = Object.fromEntries(
      Array.from({ length: 150 }, (_, at) => [`p${at}`, { ...newHabit(), atMs: at }]),
    )
    expect(Object.keys(mergedHabits(crowd, {}))).toHaveLength(100)
    expect(mergedHabits(crowd, {}).p149).toBeDefined()
  })

  it('a ttl below the work is a note while renewal carries it, and a warning when leases ran out', () => {
    const short = { ...USUAL, ttlMs: 50 }
    const judged = (usual: Usual) =>
      examineTimes([usual], '').map(({ severity, fix }) => [severity, fix.slice(0, 30)])
    expect(judged(short)).toEqual([['note', "acquire(key, { ttl: '200ms' })"]])
    expect(judged({ ...short, expired: 1 })).toEqual([['warning', "acquire(key, { ttl: '200ms' })"]])
    expect(judged(USUAL)).toEqual([])
    expect(judged({ ...USUAL, expired: 1 })).toHaveLength(1)
    expect(judged({ ...short, holds: 19 })).toEqual([])
    expect(examineTimes([short], 'other:')).toEqual([])
  })
})

describe('a process with habits', () => {
  it('publishes how long it worked and how long the key was closed over all hand-overs, when it closes', async () => {
    const world = memoryWorld()
    const locks = createLocks({ store: memory({ world }), habits: true, prefix: 'shop:', ttl: '7s' })
    // All at once, so that one claim of the store is handed from each to the next.
    await Promise.all(Array.from({ length: 25 }, () => locks.using('order:42', () => sleep(2))))
    await locks.using('order:43', { ttl: '8s' }, () => {})
    await locks.close()
    const reader = createLocks({ store: memory({ world }) })
    const [usual, ...others] = usuals(await readHabits(reader.records as Records))
    expect(others).toEqual([])
    expect(usual).toMatchObject({ pattern: 'shop:order:*', holds: 26, ttlMs: 8000, expired: 0 })
    expect(usual?.closedP99Ms).toBeGreaterThanOrEqual(25 * 2)
    expect(usual?.closedP99Ms).toBeGreaterThan(usual?.workP99Ms as number)
    await reader.close()
  })

  it('is refused on a store without records', () => {
    const store = memory()
    const bare = { ...store, records: null, traits: { ...store.traits, records: false } }
    expect(() => createLocks({ store: bare, habits: true })).toThrow(/no records to keep habits in/)
  })
})
