import { describe, expect, it } from 'vitest'
import {
  claimBatch,
  EMPTY,
  type KeyState,
  releaseOf,
  renewOf,
  step,
  stepBatch,
} from '../../src/model/index.ts'
import { claimOf } from './arbitraries.ts'
import { claimEvent } from './explore.ts'
import { batch } from './properties/batch.ts'
import { prove } from './property.ts'

const clock = { nowMs: 0, stampUs: 1 }
const rules = { offerMs: 10, keepSeqMs: 60_000, mostOffers: Number.POSITIVE_INFINITY }

function shelfWith(held: Record<string, string> = {}) {
  const states = new Map<string, KeyState>()
  for (const [key, id] of Object.entries(held)) {
    states.set(key, step(EMPTY, claimEvent(claimOf(id, { key })), clock, rules).state)
  }
  return {
    states,
    get: (key: string) => states.get(key) ?? EMPTY,
    put: (key: string, state: KeyState) => void states.set(key, state),
  }
}

describe('a batch', () => {
  prove(batch)

  it('grants the claims of a group together', () => {
    const shelf = shelfWith()
    const claims = ['k1', 'k2'].map((key) => claimOf(`a ${key}`, { key, group: 'g' }))
    const { answers } = claimBatch(shelf, claims, 'inbox', clock, rules)
    expect(answers.map((answer) => answer.kind)).toEqual(['granted', 'granted'])
    expect([...shelf.states.keys()]).toEqual(['k1', 'k2'])
  })

  it('grants none of them when one is taken, and says which', () => {
    const shelf = shelfWith({ k2: 'other' })
    const claims = ['k1', 'k2', 'k3'].map((key) => claimOf(`a ${key}`, { key, group: 'g' }))
    const { answers, notifications } = claimBatch(shelf, claims, 'inbox', clock, rules)
    expect(answers.map((answer) => (answer.kind === 'blocked' ? answer.holder?.label : answer.kind))).toEqual(
      [undefined, 'label of other', undefined],
    )
    expect([...shelf.states.keys()]).toEqual(['k2'])
    expect(shelf.get('k2').queue).toEqual([])
    expect(notifications).toEqual([])
  })

  it('decides about claims on the same key one after another', () => {
    const shelf = shelfWith()
    const twice = [claimOf('a', { group: 'g' }), claimOf('b', { group: 'g' })]
    expect(claimBatch(shelf, twice, 'inbox', clock, rules).answers.map((answer) => answer.kind)).toEqual([
      'blocked',
      'blocked',
    ])
    const apart = [claimOf('a'), claimOf('b')]
    expect(claimBatch(shelf, apart, 'inbox', clock, rules).answers.map((answer) => answer.kind)).toEqual([
      'granted',
      'blocked',
    ])
  })

  it('renews and releases several claims, each on its own key, and passes the notifications on', () => {
    const shelf = shelfWith({ k1: 'a', k2: 'b' })
    claimBatch(shelf, [claimOf('c', { key: 'k2' })], 'inbox', clock, rules)
    const three = [claimOf('a', { key: 'k1' }), claimOf('b', { key: 'k2' }), claimOf('a', { key: 'k3' })]
    const renewed = stepBatch(shelf, three, renewOf, clock, rules)
    expect(renewed.answers).toEqual([
      { kind: 'renewed', contended: false },
      { kind: 'renewed', contended: true },
      { kind: 'lost' },
    ])
    const released = stepBatch(shelf, three, releaseOf, clock, rules)
    expect(released.answers.map((answer) => answer.kind)).toEqual(['released', 'released', 'absent'])
    expect(released.notifications).toMatchObject([
      { key: 'k2', inbox: 'inbox', notice: { kind: 'granted', id: 'c' } },
    ])
  })

  it('does not let the failure of one group touch another', () => {
    const shelf = shelfWith({ k2: 'other' })
    const claims = [
      claimOf('a', { key: 'k1', group: 'g' }),
      claimOf('b', { key: 'k2', group: 'g' }),
      claimOf('c', { key: 'k1', group: 'h' }),
      claimOf('d', { key: 'k2' }),
    ]
    const { answers } = claimBatch(shelf, claims, 'inbox', clock, rules)
    expect(answers.map((answer) => answer.kind)).toEqual(['blocked', 'blocked', 'granted', 'blocked'])
    expect(shelf.get('k2').queue.map((waiter) => waiter.claim.id)).toEqual(['d'])
  })
})
