import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Claim, EMPTY, type KeyState, type Mode, step } from '../../../src/model/index.ts'
import type { KeyValue } from '../../../src/stores/etcd/client/responses.ts'
import { type ClaimValue, claimValue } from '../../../src/stores/etcd/format.ts'
import { claimName, queueName } from '../../../src/stores/etcd/names.ts'
import {
  type Obstacle,
  obstacleOf,
  positionOf,
  type QueueSnapshot,
  refusalOf,
  snapshotOf,
  snapshotOps,
} from '../../../src/stores/etcd/snapshot.ts'
import { wholeKeyOf } from '../../../src/stores/etcd/whole-key.ts'

const EXCLUSIVE: Mode = { kind: 'exclusive' }
const SHARED: Mode = { kind: 'shared' }
const permits = (limit: number, weight = 1): Mode => ({ kind: 'permits', limit, weight })
const RULES = { offerMs: 1000, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY }
const CLOCK = { nowMs: 0, stampUs: 1 }
const LAST = Number.POSITIVE_INFINITY

function claim(id: string, changes: Partial<Claim> = {}): Claim {
  const still = { owner: null, actor: null, meta: null, lockDelayMs: 0, group: null, replaces: null }
  return { key: 'key', id, mode: EXCLUSIVE, ttlMs: 1000, queue: true, label: id, ...still, ...changes }
}

/** A claim as etcd has it; `at` is the revision of its arrival. */
function kept(
  wanted: Claim,
  section: 'hold' | 'join' | 'queue',
  at: number,
  state: ClaimValue['state'],
): KeyValue {
  const { key, id, mode } = wanted
  const name =
    section === 'queue' ? queueName(key, mode.kind, at, id) : claimName(key, section, mode.kind, id)
  const value = JSON.stringify(claimValue(wanted, 'inbox', state, 0))
  return { key: name, value, created: at, changed: at, lease: 1n }
}

/** The answer of etcd: ranges in the order of the names, cut at their limits, with their counts. */
function read(kvs: readonly KeyValue[], mode: Mode, order: number, ownId: string): QueueSnapshot {
  const sorted = [...kvs].sort((one, other) => (one.key < other.key ? -1 : 1))
  const results = snapshotOps('key', mode, order).map(({ key, end = '', limit = 0 }) => {
    const found = sorted.filter((kv) => kv.key >= key && kv.key < end)
    const cut = limit === 0 ? found : found.slice(0, limit)
    return { kvs: cut, count: found.length, previous: [], txn: null }
  })
  return snapshotOf('key', results, 100, ownId)
}

const lockModes = fc.array(fc.constantFrom(EXCLUSIVE, SHARED), { minLength: 1, maxLength: 14 })
const permitModes = fc.integer({ min: 1, max: 4 }).chain((limit) =>
  fc.array(
    fc.integer({ min: 1, max: limit }).map((weight) => permits(limit, weight)),
    { minLength: 1, maxLength: 40 },
  ),
)
const events = fc.array(fc.record({ index: fc.nat({ max: 39 }), enters: fc.boolean() }), { maxLength: 80 })
/** Each claim may or may not have written its hold yet, and may or may not have its position yet. */
const manners = fc.array(fc.record({ writes: fc.boolean(), enters: fc.boolean() }), {
  minLength: 40,
  maxLength: 40,
})

describe('the snapshot of a key', () => {
  it('decides as the model does, and wakes the claim when it may hold', () => {
    fc.assert(
      fc.property(fc.oneof(lockModes, permitModes), manners, events, (modes, manners, events) => {
        const ids = modes.map((_, index) => `claim ${index}`)
        const inQueue = new Set(ids.filter((_, index) => manners[index]?.enters))
        let state: KeyState = EMPTY
        for (const [index, mode] of modes.entries()) {
          const event = { kind: 'claim', claim: claim(ids[index] as string, { mode }), inbox: null } as const
          state = step(state, event, CLOCK, RULES).state
        }
        const present = new Set(ids)
        const isHolder = (id: string) =>
          state.holds.some(({ members }) => members.some((each) => each.id === id))
        const kvs = () =>
          ids.flatMap((id, index) => {
            if (!present.has(id)) return []
            const wanted = claim(id, { mode: modes[index] as Mode })
            const section = inQueue.has(id) ? 'queue' : 'join'
            const written = isHolder(id) && manners[index]?.writes === true
            return [kept(wanted, section, index + 1, written ? 'held' : 'waiting')]
          })
        const watched = new Map<string, Obstacle>()
        const look = (id: string, index: number): void => {
          const mode = modes[index] as Mode
          const snapshot = read(kvs(), mode, index + 1, id)
          const obstacle = obstacleOf(snapshot, mode, index + 1, null)
          expect(obstacle === null, `${id} of ${JSON.stringify(modes)}`).toBe(isHolder(id))
          if (obstacle === null) watched.delete(id)
          else watched.set(id, obstacle)
        }
        for (const [index, id] of ids.entries()) look(id, index)
        for (const { index, enters } of events) {
          const gone = ids[index]
          if (gone === undefined || !present.has(gone)) continue
          const before = new Set(kvs().map(({ key }) => key))
          if (enters) inQueue.add(gone)
          else {
            present.delete(gone)
            watched.delete(gone)
            state = step(state, { kind: 'release', id: gone }, CLOCK, RULES).state
          }
          const now = new Set(kvs().map(({ key }) => key))
          const deleted = [...before].filter((name) => !now.has(name))
          for (const [other, id] of ids.entries()) {
            const obstacle = watched.get(id)
            if (obstacle === undefined) continue
            const held = new Set(
              kvs()
                .filter(({ value }) => JSON.parse(value).state === 'held')
                .map(({ key }) => key),
            )
            if (isWoken(obstacle, deleted, held)) look(id, other)
            else expect(isHolder(id), `${id} sleeps through its turn`).toBe(false)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  it('is as short for a thousand waiters as for ten', () => {
    for (const mode of [EXCLUSIVE, SHARED, permits(3)]) {
      const kvs = Array.from({ length: 1000 }, (_, index) =>
        kept(claim(`claim ${index}`, { mode }), 'queue', index + 1, index < 1 ? 'held' : 'waiting'),
      )
      const snapshot = read(kvs, mode, LAST, 'own')
      const all = [...snapshot.holds, ...snapshot.joining, ...Object.values(snapshot.queue).flat()]
      expect(all.length).toBeLessThanOrEqual(11)
      if (mode.kind !== 'permits') expect(positionOf(snapshot, mode, LAST)).toBe(1000)
    }
  })

  it('keeps apart claims that arrived one after the other, at any revision', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 14 }), (order) => {
        const names = [order + 1, order].map((each) => queueName('key', 'exclusive', each, 'id'))
        expect([...names].sort()).toEqual(names)
        expect(names[0]).not.toBe(names[1])
      }),
    )
  })

  it('refuses a claim that never fits the present ones', () => {
    const kvs = [kept(claim('a', { mode: permits(3) }), 'join', 1, 'trying')]
    const snapshot = read(kvs, EXCLUSIVE, LAST, 'b')
    expect(refusalOf(snapshot, claim('b'))).toMatchObject({ kind: 'refused', reason: 'mode' })
    expect(refusalOf(snapshot, claim('b', { mode: permits(4) }))).toMatchObject({ reason: 'limit' })
    expect(refusalOf(snapshot, claim('b', { mode: permits(3) }))).toBeNull()
  })

  it.each(['holdfast/lock/key\0bold', 'holdfast/lock/key\0zold'])(
    'refuses what the version before wrote (%s)',
    (name) => {
      const kvs = [{ key: name, value: '{"format":1}', created: 1, changed: 1, lease: 1n }]
      const snapshot = read(kvs, SHARED, LAST, 'b')
      expect(refusalOf(snapshot, claim('b', { mode: SHARED }))).toMatchObject({ reason: 'format' })
    },
  )
})

describe('the view of an operator', () => {
  it('has permits that were only tried for as holds where they fit', () => {
    const kvs = [1, 2, 3].map((at) => kept(claim(`claim ${at}`, { mode: permits(2) }), 'join', at, 'trying'))
    const whole = wholeKeyOf('key', kvs)
    expect(whole.holds.flat().map(({ id }) => id)).toEqual(['claim 1', 'claim 2'])
    expect(whole.waiting.map(({ id }) => id)).toEqual(['claim 3'])
  })

  it('has all claims of an owner in one hold', () => {
    const owner = 'workflow 7'
    const member = (id: string, at: number): KeyValue => {
      const kv = kept(claim(id, { owner }), 'hold', at, 'held')
      return { ...kv, value: JSON.stringify({ ...JSON.parse(kv.value), seq: 1 }) }
    }
    const whole = wholeKeyOf('key', [member('a', 1), kept(claim('b'), 'queue', 2, 'waiting'), member('c', 3)])
    expect(whole.holds.map((members) => members.map(({ id }) => id))).toEqual([['a', 'c']])
    expect(whole.waiting.map(({ id }) => id)).toEqual(['b'])
  })
})

function isWoken(obstacle: Obstacle, deleted: readonly string[], held: ReadonlySet<string>): boolean {
  if (obstacle.kind === 'incomplete') return true
  if (obstacle.kind === 'turn') return deleted.includes(obstacle.name) || held.has(obstacle.name)
  if (obstacle.kind === 'key') return deleted.includes(obstacle.name)
  for (const name of deleted) (obstacle.weights as Map<string, number>).delete(name)
  return [...obstacle.weights.values()].reduce((sum, weight) => sum + weight, 0) <= obstacle.spare
}
