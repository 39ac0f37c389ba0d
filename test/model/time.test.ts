import { describe, expect, it } from 'vitest'
import { EMPTY, forgetAtMs, isForgettable, nextChangeMs } from '../../src/model/index.ts'
import { permits, shared } from './arbitraries.ts'
import { Key } from './key.ts'
import { fastStep } from './properties/fast-step.ts'
import { purity } from './properties/purity.ts'
import { time } from './properties/time.ts'
import { prove } from './property.ts'

describe('time', () => {
  prove(time)

  it('changes nothing about a key that was never used', () => {
    expect(nextChangeMs(EMPTY, 5)).toBeNull()
    expect(isForgettable(EMPTY, 0)).toBe(true)
  })

  it('tells a blocked claim to look again when the first holder may be dead', () => {
    const key = new Key()
    key.claim('a', { mode: permits(2), ttlMs: 70 })
    key.claim('b', { mode: permits(2), ttlMs: 40 })
    expect(key.claim('c', { mode: permits(2) })).toMatchObject({ retryAfterMs: 40 })
  })

  it('tells a blocked claim to look again when somebody before it in the queue may be dead', () => {
    const key = new Key()
    key.claim('reader', { mode: shared, ttlMs: 5_000 })
    key.claim('dead writer', { ttlMs: 30 })
    expect(key.claim('second reader', { mode: shared, ttlMs: 500 })).toMatchObject({
      position: 2,
      retryAfterMs: 30,
    })
    expect(key.claim('passer-by', { mode: shared, queue: false })).toMatchObject({
      position: 0,
      retryAfterMs: 30,
    })
    expect(key.claim('dead writer', { ttlMs: 30 })).toMatchObject({ position: 1, retryAfterMs: 5_000 })
    key.pass(30)
    expect(key.holders).toEqual(['reader', 'second reader'])
  })

  it('lets a token be forgotten a minute after its grant, but no hold before its end', () => {
    const key = new Key()
    key.nowMs = 1_000
    key.claim('a', { ttlMs: 70_000 })
    expect(forgetAtMs(key.state)).toBe(71_000)
    key.release('a')
    expect(forgetAtMs(key.state)).toBe(61_000)
    expect(isForgettable(key.state, 60_999)).toBe(false)
    expect(isForgettable(key.state, 61_000)).toBe(true)
  })

  it('does not let a key be forgotten while the lock delay of its holder may still come', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 60_000, lockDelayMs: 5_000 })
    expect(forgetAtMs(key.state)).toBe(65_000)
  })
})

describe('the transition function', () => {
  prove(purity)
})

describe('the fast path', () => {
  prove(fastStep)
})
