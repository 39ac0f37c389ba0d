import { describe, expect, it } from 'vitest'
import { viewOf } from '../../src/model/index.ts'
import { shared } from './arbitraries.ts'
import { Key } from './key.ts'
import { delay } from './properties/delay.ts'
import { prove } from './property.ts'

describe('the lock delay', () => {
  prove(delay)

  it('keeps a key closed after its holder ran out of time', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 50, lockDelayMs: 30 })
    key.claim('b', { ttlMs: 500 })
    key.pass(50)
    expect(key.told).toEqual(['inbox of a: lost a'])
    expect(viewOf('k', key.state, key.nowMs).closedForMs).toBe(30)
    expect(key.claim('c', { queue: false })).toMatchObject({
      kind: 'blocked',
      retryAfterMs: 30,
      holder: null,
    })
    key.pass(29)
    expect(key.holders).toEqual([])
    key.pass(1)
    expect(key.holders).toEqual(['b'])
  })

  it('counts from the expiry, however late it is noticed', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 50, lockDelayMs: 30 })
    key.nowMs = 70
    expect(key.claim('b')).toMatchObject({ kind: 'blocked', retryAfterMs: 10 })
    key.nowMs = 80
    expect(key.claim('b').kind).toBe('granted')
  })

  it('does not follow a release, an eviction or an adoption', () => {
    const key = new Key()
    key.claim('a', { lockDelayMs: 30 })
    key.release('a')
    expect(key.claim('b', { lockDelayMs: 30 }).kind).toBe('granted')
    key.evict()
    expect(key.claim('c', { lockDelayMs: 30 }).kind).toBe('granted')
    key.claim('d', { replaces: 'c' })
    key.release('d')
    expect(key.claim('e').kind).toBe('granted')
  })

  it('lets those who hold go on, and their owner join them', () => {
    const key = new Key()
    key.claim('a', { mode: shared, ttlMs: 50, lockDelayMs: 30 })
    key.claim('b', { mode: shared, owner: 'x' })
    key.pass(50)
    expect(key.renew('b')).toMatchObject({ kind: 'renewed' })
    expect(key.claim('c', { mode: shared, owner: 'x' }).kind).toBe('granted')
    expect(key.claim('d', { mode: shared }).kind).toBe('blocked')
  })
})
