import { describe, expect, it } from 'vitest'
import { viewOf } from '../../src/model/index.ts'
import { permits, shared } from './arbitraries.ts'
import { Key, tokenIn } from './key.ts'
import { operators } from './properties/operators.ts'
import { view } from './properties/view.ts'
import { prove } from './property.ts'

describe('an operator', () => {
  prove(operators)

  it('evicts a holder by its token, and the next in the queue has a higher one', () => {
    const key = new Key()
    const token = tokenIn(key.claim('a'))
    key.claim('b')
    expect(key.evict(token)).toEqual({ kind: 'evicted', labels: ['label of a'] })
    expect(key.told).toEqual(['inbox of a: lost a', 'inbox of b: granted b'])
    expect(key.notifications[0]?.notice).toMatchObject({ cause: 'evicted' })
    expect(tokenIn(key.claim('b'))).toBeGreaterThan(token + 255n)
    expect(key.renew('a')).toEqual({ kind: 'lost' })
  })

  it('evicts by a token that was handed over inside a process', () => {
    const key = new Key()
    const token = tokenIn(key.claim('a'))
    expect(key.evict(token + 17n)).toMatchObject({ kind: 'evicted' })
    expect(key.holders).toEqual([])
  })

  it('does not evict the next holder with the token of the last one', () => {
    const key = new Key()
    const token = tokenIn(key.claim('a'))
    key.release('a')
    key.claim('b')
    expect(key.evict(token)).toEqual({ kind: 'absent', labels: [] })
    expect(key.holders).toEqual(['b'])
  })

  it('evicts one reader or all of them', () => {
    const key = new Key()
    const tokens = ['r1', 'r2', 'r3'].map((id) => tokenIn(key.claim(id, { mode: shared })))
    key.evict(tokens[1] as bigint)
    expect(key.holders).toEqual(['r1', 'r3'])
    expect(key.evict()).toEqual({ kind: 'evicted', labels: ['label of r1', 'label of r3'] })
    expect(key.holders).toEqual([])
    expect(key.evict()).toEqual({ kind: 'absent', labels: [] })
  })

  it('evicts every claim of an owner, because they share a token', () => {
    const key = new Key()
    const token = tokenIn(key.claim('a', { owner: 'x' }))
    key.claim('b', { owner: 'x' })
    expect(key.evict(token).labels).toEqual(['label of a', 'label of b'])
  })

  it('asks holders to let go, and takes nothing from them', () => {
    const key = new Key()
    key.claim('a')
    key.claim('b')
    expect(key.revoke()).toEqual({ kind: 'evicted', labels: ['label of a'] })
    expect(key.told).toEqual(['inbox of a: revoked a'])
    expect(key.holders).toEqual(['a'])
    expect(key.revoke(1n)).toEqual({ kind: 'absent', labels: [] })
  })
})

describe('the view of a key', () => {
  prove(view)

  it('shows who holds, who waits and since when', () => {
    const key = new Key()
    const token = tokenIn(key.claim('a', { mode: permits(3, 2), owner: 'x', actor: 'job', meta: '{"n":1}' }))
    key.nowMs = 30
    key.claim('b', { mode: permits(3, 2) })
    key.nowMs = 40
    expect(viewOf('k', key.state, key.nowMs)).toEqual({
      key: 'k',
      holders: [
        {
          label: 'label of a',
          owner: 'x',
          actor: 'job',
          mode: 'permits',
          weight: 2,
          token,
          heldMs: 40,
          expiresInMs: 60,
          meta: '{"n":1}',
        },
      ],
      queue: [
        {
          label: 'label of b',
          owner: null,
          actor: null,
          mode: 'permits',
          weight: 2,
          ttlMs: 100,
          waitedMs: 10,
          expiresInMs: 90,
          meta: null,
        },
      ],
      token,
      limit: 3,
      closedForMs: 0,
    })
  })

  it('of a free key is empty', () => {
    expect(viewOf('k', new Key().state, 0)).toEqual({
      key: 'k',
      holders: [],
      queue: [],
      token: null,
      limit: null,
      closedForMs: 0,
    })
  })
})
