import { describe, expect, it } from 'vitest'
import { shared } from './arbitraries.ts'
import { Key } from './key.ts'
import { fifo } from './properties/fifo.ts'
import { prove } from './property.ts'

describe('the queue', () => {
  prove(fifo)

  it('is served in the order in which it was joined', () => {
    const key = new Key()
    key.claim('a')
    for (const id of ['b', 'c', 'd']) key.claim(id)
    const served: string[] = []
    for (let holder = key.holders[0]; holder !== undefined; holder = key.holders[0]) {
      served.push(holder)
      key.release(holder)
    }
    expect(served).toEqual(['a', 'b', 'c', 'd'])
  })

  it('does not let a reader past a writer that waits', () => {
    const key = new Key()
    key.claim('r1', { mode: shared })
    key.claim('w')
    expect(key.claim('r2', { mode: shared })).toMatchObject({ kind: 'blocked', position: 2 })
    expect(key.claim('r3', { mode: shared, queue: false })).toMatchObject({ kind: 'blocked', position: 0 })
    key.release('r1')
    expect(key.holders).toEqual(['w'])
  })

  it('lets readers that stand together in together, up to the next writer', () => {
    const key = new Key()
    key.claim('w1')
    for (const id of ['r1', 'r2']) key.claim(id, { mode: shared })
    key.claim('w2')
    key.claim('r3', { mode: shared })
    key.release('w1')
    expect(key.holders).toEqual(['r1', 'r2'])
    expect(key.queue).toEqual(['w2', 'r3'])
  })

  it('closes up when somebody leaves it, and lets in whom that one kept out', () => {
    const key = new Key()
    key.claim('r1', { mode: shared })
    key.claim('w')
    key.claim('r2', { mode: shared })
    expect(key.release('w')).toEqual({ kind: 'released' })
    expect(key.told).toEqual(['inbox of r2: granted r2'])
    expect(key.holders).toEqual(['r1', 'r2'])
  })

  it('tells a holder once that others wait, and again after the queue was empty', () => {
    const key = new Key()
    key.claim('a')
    key.claim('b')
    expect(key.told).toEqual(['inbox of a: contended a'])
    key.claim('c')
    expect(key.told).toEqual([])
    key.release('b')
    key.release('c')
    key.claim('d')
    expect(key.told).toEqual(['inbox of a: contended a'])
    expect(key.renew('a')).toEqual({ kind: 'renewed', contended: true })
  })
})
