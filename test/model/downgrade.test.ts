import { describe, expect, it } from 'vitest'
import { shared } from './arbitraries.ts'
import { Key, tokenIn } from './key.ts'
import { downgrade } from './properties/downgrade.ts'
import { prove } from './property.ts'

describe('a downgrade', () => {
  prove(downgrade)

  it('makes a writer a reader without letting go, and lets the readers at the head of the queue in', () => {
    const key = new Key()
    const token = tokenIn(key.claim('w'))
    key.claim('r1', { mode: shared })
    key.claim('w2')
    key.claim('r2', { mode: shared })
    expect(tokenIn(key.claim('w', { mode: shared }))).toBe(token)
    expect(key.told).toEqual(['inbox of r1: granted r1'])
    expect(key.holders).toEqual(['w', 'r1'])
    expect(key.queue).toEqual(['w2', 'r2'])
  })

  it('cannot be taken back', () => {
    const key = new Key()
    key.claim('w')
    key.claim('w', { mode: shared })
    expect(key.claim('w')).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(key.holders).toEqual(['w'])
  })

  it('may be sent twice', () => {
    const key = new Key()
    key.claim('w')
    const first = key.claim('w', { mode: shared })
    expect(key.claim('w', { mode: shared })).toEqual(first)
  })

  it('of a lease that is gone makes nothing when it replaces itself', () => {
    const key = new Key()
    key.claim('w')
    key.pass(100)
    expect(key.claim('w', { mode: shared, replaces: 'w' })).toMatchObject({
      kind: 'refused',
      reason: 'absent',
    })
    expect(key.holders).toEqual([])
  })

  it('of one claim does not weaken a hold that another claim of its owner relies on', () => {
    const key = new Key()
    key.claim('a', { owner: 'x' })
    key.claim('b', { owner: 'x' })
    expect(key.claim('b', { owner: 'x', mode: shared }).kind).toBe('granted')
    expect(key.claim('r', { mode: shared }).kind).toBe('blocked')
  })
})
