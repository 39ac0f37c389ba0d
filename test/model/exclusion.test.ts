import { describe, expect, it } from 'vitest'
import { shared } from './arbitraries.ts'
import { Key } from './key.ts'
import { exclusion } from './properties/exclusion.ts'
import { prove } from './property.ts'

describe('exclusion', () => {
  prove(exclusion)

  it('gives a free key to the first claim and blocks the second', () => {
    const key = new Key()
    expect(key.claim('a')).toMatchObject({ kind: 'granted', contended: false })
    key.nowMs = 7
    expect(key.claim('b', { queue: false })).toEqual({
      kind: 'blocked',
      position: 0,
      retryAfterMs: 93,
      storeTimeMs: 7,
      holder: { label: 'label of a', heldMs: 7 },
    })
    expect(key.queue).toEqual([])
  })

  it('lets readers in together and a writer only alone', () => {
    const key = new Key()
    expect(key.claim('r1', { mode: shared }).kind).toBe('granted')
    expect(key.claim('r2', { mode: shared }).kind).toBe('granted')
    expect(key.claim('w').kind).toBe('blocked')
    key.release('r1')
    expect(key.holders).toEqual(['r2'])
    key.release('r2')
    expect(key.holders).toEqual(['w'])
    expect(key.claim('r3', { mode: shared }).kind).toBe('blocked')
  })

  it('treats a resent claim as the same claim: same token, full ttl', () => {
    const key = new Key()
    const first = key.claim('a')
    key.nowMs = 60
    expect(key.claim('a')).toEqual(first)
    key.pass(99)
    expect(key.holders).toEqual(['a'])
    key.pass(1)
    expect(key.holders).toEqual([])
  })

  it('keeps the place of a waiter that asks again', () => {
    const key = new Key()
    key.claim('a')
    key.claim('b')
    key.claim('c')
    expect(key.claim('b')).toMatchObject({ kind: 'blocked', position: 1 })
    expect(key.claim('b', { queue: false })).toMatchObject({ kind: 'blocked', position: 1 })
    expect(key.queue).toEqual(['b', 'c'])
  })
})
