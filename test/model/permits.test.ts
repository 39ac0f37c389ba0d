import { describe, expect, it } from 'vitest'
import { exclusive, permits } from './arbitraries.ts'
import { Key } from './key.ts'
import { permitsTopic } from './properties/permits.ts'
import { prove } from './property.ts'

describe('permits', () => {
  prove(permitsTopic)

  it('let in as much weight as the limit allows', () => {
    const key = new Key()
    expect(key.claim('a', { mode: permits(5, 3) }).kind).toBe('granted')
    expect(key.claim('b', { mode: permits(5, 2) }).kind).toBe('granted')
    expect(key.claim('c', { mode: permits(5, 1) })).toMatchObject({ kind: 'blocked', position: 1 })
    key.release('b')
    expect(key.holders).toEqual(['a', 'c'])
  })

  it('do not let a light claim pass a heavy one that came first', () => {
    const key = new Key()
    key.claim('a', { mode: permits(3, 2) })
    key.claim('heavy', { mode: permits(3, 3) })
    expect(key.claim('light', { mode: permits(3, 1) })).toMatchObject({ kind: 'blocked', position: 2 })
    key.release('a')
    expect(key.holders).toEqual(['heavy'])
    key.release('heavy')
    expect(key.holders).toEqual(['light'])
  })

  it('refuse another limit for a key in use, also when it is in use only by waiters', () => {
    const key = new Key()
    key.claim('a', { mode: permits(3), ttlMs: 10, lockDelayMs: 50 })
    key.claim('b', { mode: permits(3) })
    expect(key.claim('c', { mode: permits(4) })).toMatchObject({ kind: 'refused', reason: 'limit' })
    key.claim('d', { mode: permits(3, 3) })
    key.release('b')
    key.pass(10)
    expect(key.holders).toEqual([])
    expect(key.claim('c', { mode: permits(4) })).toMatchObject({ kind: 'refused', reason: 'limit' })
  })

  it('refuse to be a lock at the same time, until the key is free', () => {
    const key = new Key()
    key.claim('a', { mode: permits(3) })
    expect(key.claim('b', { mode: exclusive })).toMatchObject({ kind: 'refused', reason: 'mode' })
    key.release('a')
    expect(key.claim('b', { mode: exclusive }).kind).toBe('granted')
    expect(key.claim('a', { mode: permits(3) })).toMatchObject({ kind: 'refused', reason: 'mode' })
  })

  it('refuse a weight that no limit can ever let in, before it blocks the queue', () => {
    const key = new Key()
    expect(key.claim('a', { mode: permits(3, 4) })).toMatchObject({ kind: 'refused', reason: 'limit' })
    expect(key.queue).toEqual([])
    expect(key.claim('b', { mode: permits(3, 3) }).kind).toBe('granted')
  })

  it('are counted once for an owner that claims again with no more than it has', () => {
    const key = new Key()
    key.claim('a', { mode: permits(3, 2), owner: 'x' })
    expect(key.claim('b', { mode: permits(3, 2), owner: 'x' }).kind).toBe('granted')
    expect(key.claim('c', { mode: permits(3, 1) }).kind).toBe('granted')
    expect(key.claim('d', { mode: permits(3, 1) }).kind).toBe('blocked')
  })

  it('are never given to a second, heavier claim of an owner for the price of its first', () => {
    const key = new Key()
    key.claim('all', { mode: permits(4, 4) })
    key.claim('light', { mode: permits(4, 1), owner: 'x' })
    key.claim('heavy', { mode: permits(4, 2), owner: 'x' })
    key.release('all')
    expect(key.holders).toEqual(['light'])
    expect(key.claim('other', { mode: permits(4, 3) })).toMatchObject({ kind: 'blocked', position: 2 })
    key.release('light')
    expect(key.holders).toEqual(['heavy'])
  })
})
