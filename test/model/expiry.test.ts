import { describe, expect, it } from 'vitest'
import { viewOf } from '../../src/model/index.ts'
import { shared } from './arbitraries.ts'
import { Key } from './key.ts'
import { delay } from './properties/delay.ts'
import { expiry } from './properties/expiry.ts'
import { notifications } from './properties/notifications.ts'
import { prove } from './property.ts'

describe('expiry', () => {
  prove(expiry)

  it('ends a hold at its very moment and offers the key to the next', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 50 })
    key.claim('b', { ttlMs: 200 })
    key.pass(49)
    expect(key.holders).toEqual(['a'])
    key.pass(1)
    expect(key.told).toEqual(['inbox of a: lost a', 'inbox of b: granted b'])
    expect(key.notifications[1]?.notice).toMatchObject({
      storeTimeMs: 50,
      lifeMs: 10,
      spare: 255,
      contended: false,
    })
    expect(key.holders).toEqual(['b'])
  })

  it('of an offer comes soon unless it is renewed: a dead waiter costs the offer, not its ttl', () => {
    const key = new Key()
    key.claim('a')
    key.claim('dead', { ttlMs: 5_000 })
    key.claim('alive', { ttlMs: 5_000 })
    key.release('a')
    key.pass(9)
    expect(key.holders).toEqual(['dead'])
    key.pass(1)
    expect(key.holders).toEqual(['alive'])
    expect(key.renew('alive', 5_000)).toEqual({ kind: 'renewed', contended: false })
    key.pass(4_999)
    expect(key.holders).toEqual(['alive'])
    key.pass(1)
    expect(key.holders).toEqual([])
  })

  it('of an offer is no sooner than that of a whole grant would be', () => {
    const key = new Key()
    key.claim('a')
    key.claim('b', { ttlMs: 4 })
    key.release('a')
    expect(key.notifications[0]?.notice).toMatchObject({ kind: 'granted', lifeMs: 4 })
  })

  it('takes a dead waiter out of the queue, so that it blocks nobody', () => {
    const key = new Key()
    key.claim('r1', { mode: shared, ttlMs: 1_000 })
    key.claim('dead writer', { ttlMs: 20 })
    key.claim('r2', { mode: shared })
    key.pass(20)
    expect(key.holders).toEqual(['r1', 'r2'])
    expect(key.renew('dead writer')).toEqual({ kind: 'lost' })
    expect(key.queue).toEqual([])
  })

  it('is put off by a renewal of the place, which never makes a hold by itself', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 1_000 })
    key.claim('b', { ttlMs: 20 })
    key.pass(19)
    expect(key.renew('b', 20)).toMatchObject({ kind: 'waiting', position: 1 })
    key.pass(19)
    expect(key.queue).toEqual(['b'])
    key.pass(1)
    expect(key.queue).toEqual([])
    expect(key.renew('b', 20)).toEqual({ kind: 'lost' })
    expect(key.queue).toEqual([])
  })

  it('is never brought forward by a late, shorter renewal', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 100 })
    key.renew('a', 5)
    key.pass(99)
    expect(key.holders).toEqual(['a'])
  })

  it('makes a late release harmless to the next holder', () => {
    const key = new Key()
    key.claim('a', { ttlMs: 50 })
    key.claim('b')
    key.pass(50)
    expect(key.release('a')).toEqual({ kind: 'absent' })
    expect(key.holders).toEqual(['b'])
  })
})

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

describe('notifications', () => {
  prove(notifications)
})
