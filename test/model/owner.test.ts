import { describe, expect, it } from 'vitest'
import { shared } from './arbitraries.ts'
import { Key, tokenIn } from './key.ts'

describe('a named owner', () => {
  it('joins its own hold past the queue, with the same token', () => {
    const key = new Key()
    const first = key.claim('a', { owner: 'x' })
    key.claim('b')
    const second = key.claim('c', { owner: 'x' })
    expect(tokenIn(second)).toBe(tokenIn(first))
    expect(second).toMatchObject({ spare: 0, contended: true })
    expect(key.holders).toEqual(['a', 'c'])
    expect(key.queue).toEqual(['b'])
  })

  it('holds until the last of its claims is over', () => {
    const key = new Key()
    key.claim('a', { owner: 'x' })
    key.claim('c', { owner: 'x' })
    key.claim('b')
    expect(key.release('a')).toEqual({ kind: 'released' })
    expect(key.release('a')).toEqual({ kind: 'absent' })
    expect(key.queue).toEqual(['b'])
    key.release('c')
    expect(key.holders).toEqual(['b'])
  })

  it('has an expiry of its own for each claim', () => {
    const key = new Key()
    key.claim('a', { owner: 'x', ttlMs: 10 })
    key.claim('c', { owner: 'x', ttlMs: 30 })
    key.pass(10)
    expect(key.told).toEqual(['inbox of a: lost a'])
    expect(key.renew('a')).toEqual({ kind: 'lost' })
    expect(key.holders).toEqual(['c'])
    key.pass(20)
    expect(key.holders).toEqual([])
  })

  it('is let in together: when one of its waiters is granted, the others follow past the queue', () => {
    const key = new Key()
    key.claim('a')
    key.claim('b', { owner: 'x' })
    key.claim('c')
    key.claim('d', { owner: 'x' })
    key.release('a')
    expect(key.holders).toEqual(['b', 'd'])
    expect(key.queue).toEqual(['c'])
  })

  it('is refused more than its hold gives: it would wait for itself', () => {
    const key = new Key()
    key.claim('a', { owner: 'x', mode: shared })
    expect(key.claim('b', { owner: 'x' })).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(key.queue).toEqual([])
  })

  it('that waits for more than it was granted meanwhile is refused when it asks again, and leaves the queue', () => {
    const key = new Key()
    key.claim('a')
    key.claim('reader', { owner: 'x', mode: shared })
    key.claim('writer', { owner: 'x' })
    key.claim('other', { mode: shared })
    key.release('a')
    expect(key.holders).toEqual(['reader'])
    expect(key.queue).toEqual(['writer', 'other'])
    expect(key.claim('writer', { owner: 'x' })).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(key.holders).toEqual(['reader', 'other'])
    expect(key.queue).toEqual([])
  })

  it('is not the same as another one', () => {
    const key = new Key()
    key.claim('a', { owner: 'x' })
    expect(key.claim('b', { owner: 'y' }).kind).toBe('blocked')
    expect(key.claim('c', { owner: null }).kind).toBe('blocked')
  })
})
