import { describe, expect, it } from 'vitest'
import { permits, shared } from './arbitraries.ts'
import { Key, tokenIn } from './key.ts'
import { adoption } from './properties/adoption.ts'
import { prove } from './property.ts'

describe('adoption', () => {
  prove(adoption)

  it('moves a hold to another claim in one step, with a higher token, past those who wait', () => {
    const key = new Key()
    const given = key.claim('giver')
    key.claim('waiter')
    const taken = key.claim('taker', { replaces: 'giver' })
    expect(key.told).toEqual(['inbox of giver: lost giver'])
    expect(tokenIn(taken)).toBeGreaterThan(tokenIn(given))
    expect(taken).toMatchObject({ contended: true })
    expect(key.holders).toEqual(['taker'])
    expect(key.queue).toEqual(['waiter'])
  })

  it('leaves the giver with nothing: it can neither renew nor release what it gave', () => {
    const key = new Key()
    key.claim('giver')
    key.claim('taker', { replaces: 'giver' })
    expect(key.renew('giver')).toEqual({ kind: 'lost' })
    expect(key.release('giver')).toEqual({ kind: 'absent' })
    expect(key.holders).toEqual(['taker'])
  })

  it('may be asked for twice', () => {
    const key = new Key()
    key.claim('giver')
    const taken = key.claim('taker', { replaces: 'giver' })
    expect(key.claim('taker', { replaces: 'giver' })).toEqual(taken)
  })

  it('is refused when the lease is over, and makes nothing', () => {
    const key = new Key()
    key.claim('giver')
    key.pass(100)
    expect(key.claim('taker', { replaces: 'giver' })).toMatchObject({ kind: 'refused', reason: 'absent' })
    expect(key.holders).toEqual([])
    expect(key.queue).toEqual([])
  })

  it('of a claim that only waits is refused', () => {
    const key = new Key()
    key.claim('a')
    key.claim('giver')
    expect(key.claim('taker', { replaces: 'giver' })).toMatchObject({ kind: 'refused', reason: 'absent' })
    expect(key.queue).toEqual(['giver'])
  })

  it('never gives more than the giver still has: a lease that was downgraded after it was written down', () => {
    const key = new Key()
    key.claim('giver')
    key.claim('giver', { mode: shared })
    key.claim('reader', { mode: shared })
    expect(key.claim('taker', { replaces: 'giver' })).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(key.holders).toEqual(['giver', 'reader'])
    expect(key.claim('taker', { replaces: 'giver', mode: shared }).kind).toBe('granted')
    expect(key.holders).toEqual(['taker', 'reader'])
  })

  it('keeps the permits of a semaphore as they were', () => {
    const key = new Key()
    key.claim('giver', { mode: permits(3, 2) })
    key.claim('taker', { mode: permits(3, 2), replaces: 'giver' })
    expect(key.claim('a', { mode: permits(3, 2) }).kind).toBe('blocked')
    expect(key.claim('b', { mode: permits(3, 1), queue: false }).kind).toBe('blocked')
  })

  it('of one claim of an owner keeps the token that the others share', () => {
    const key = new Key()
    const first = key.claim('a', { owner: 'x' })
    key.claim('giver', { owner: 'x' })
    expect(tokenIn(key.claim('taker', { owner: 'x', replaces: 'giver' }))).toBe(tokenIn(first))
    expect(key.holders).toEqual(['a', 'taker'])
  })
})
