import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Claim, EMPTY, type KeyState, type Mode, step } from '../../../src/model/index.ts'
import {
  blockerOf,
  decide,
  type Entry,
  findEntry,
  type Line,
  lineOf,
  positionOf,
} from '../../../src/stores/etcd/line.ts'
import { besideZone, claimName, lineZone } from '../../../src/stores/etcd/names.ts'
import { type ClaimValue, claimValue } from '../../../src/stores/etcd/value.ts'
import type { KeyValue } from '../../../src/stores/etcd/wire/responses.ts'

const EXCLUSIVE: Mode = { kind: 'exclusive' }
const SHARED: Mode = { kind: 'shared' }
const permits = (limit: number, weight = 1): Mode => ({ kind: 'permits', limit, weight })
const RULES = { offerMs: 1000, keepSeqMs: 0 }
const CLOCK = { nowMs: 0, stampUs: 1 }

function claim(id: string, changes: Partial<Claim> = {}): Claim {
  const still = { owner: null, actor: null, meta: null, lockDelayMs: 0, group: null, replaces: null }
  return { key: 'key', id, mode: EXCLUSIVE, ttlMs: 1000, queue: true, label: '', ...still, ...changes }
}

function letter(index: number): string {
  return String.fromCharCode(97 + index)
}

/** A claim as etcd has it: in the line, or beside it at the place of another. */
function kept(
  wanted: Claim,
  created: number,
  state: ClaimValue['state'] = 'waiting',
  order?: number,
): KeyValue {
  const zone = order === undefined ? lineZone(wanted.mode) : besideZone(wanted.mode)
  const value = claimValue(wanted, 'inbox', state, 0, order === undefined ? {} : { order, seq: order })
  const { key, id } = wanted
  return { key: claimName(key, zone, id), value: JSON.stringify(value), created, changed: created, lease: 1n }
}

/** A claim for each mode, named a, b, c, … in the order in which they came. */
function keptOf(modes: readonly Mode[]): KeyValue[] {
  return modes.map((mode, index) => kept(claim(letter(index), { mode }), index + 1))
}

function line(kvs: readonly KeyValue[]): Line {
  return lineOf('key', kvs.toReversed(), 100)
}

/** Those who hold, and those whose turn has come. */
function admitted({ holds, offered }: Line): string[] {
  return [...holds.flatMap(({ members }) => members), ...offered].map(({ id }) => id)
}

const lockModes = fc.array(fc.constantFrom(EXCLUSIVE, SHARED), { maxLength: 12 })
const permitModes = fc.integer({ min: 1, max: 6 }).chain((limit) =>
  fc.array(
    fc.integer({ min: 1, max: limit }).map((weight) => permits(limit, weight)),
    { maxLength: 12 },
  ),
)
const modesOfOneKey = fc.oneof(lockModes, permitModes)

describe('who holds', () => {
  it('is decided as the model decides, whoever comes and goes', () => {
    const leaving = fc.array(fc.nat({ max: 11 }), { maxLength: 12 })
    fc.assert(
      fc.property(modesOfOneKey, leaving, (modes, leaving) => {
        let state: KeyState = EMPTY
        for (const [index, mode] of modes.entries()) {
          const event = { kind: 'claim', claim: claim(letter(index), { mode }), inbox: null } as const
          state = step(state, event, CLOCK, RULES).state
        }
        let kvs = keptOf(modes)
        const same = () => {
          const seen = line(kvs)
          const held = state.holds.flatMap(({ members }) => members.map(({ id }) => id))
          expect(admitted(seen).sort()).toEqual(held.sort())
          expect(seen.waiting.map(({ id }) => id)).toEqual(state.line.map((waiter) => waiter.claim.id))
          for (const [index, waiter] of state.line.entries())
            expect(positionOf(seen, waiter.claim.id)).toBe(index + 1)
        }
        same()
        for (const index of leaving) {
          const gone = letter(index)
          kvs = kvs.filter((kv) => findEntry(line([kv]), gone) === undefined)
          state = step(state, { kind: 'release', id: gone }, CLOCK, RULES).state
          same()
        }
      }),
    )
  })

  it('is a named owner with all of its claims, past the line', () => {
    const owner = 'workflow 7'
    const kvs = [
      kept(claim('a', { owner }), 1, 'held'),
      kept(claim('b'), 2),
      kept(claim('c', { owner }), 3, 'held', 1),
    ]
    expect(admitted(line(kvs)).sort()).toEqual(['a', 'c'])
    expect(decide(line(kvs), claim('d', { owner }))).toMatchObject({ kind: 'join', hold: { order: 1 } })
    expect(decide(line(kvs), claim('d'))).toEqual({ kind: 'block' })
    expect(admitted(line(kvs.slice(1))), 'the hold outlives its founder').toEqual(['c'])
    expect(admitted(line(kvs.slice(1, 2)))).toEqual(['b'])
    const reader = line([kept(claim('a', { owner, mode: SHARED }), 1, 'held')])
    expect(decide(reader, claim('b', { owner }))).toMatchObject({ kind: 'refused', reason: 'upgrade' })
  })

  it('is nobody beside one who uses the key in another way', () => {
    const seen = line([kept(claim('a'), 1, 'held')])
    expect(decide(seen, claim('b', { mode: permits(3) }))).toMatchObject({ kind: 'refused', reason: 'mode' })
  })
})

describe('whom to watch', () => {
  it('always includes one of those who must go first', () => {
    const survivors = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(modesOfOneKey, survivors, (modes, survivors) => {
        const kvs = keptOf(modes)
        const seen = line(kvs)
        for (const entry of seen.waiting) {
          const left = kvs.filter((kv, index) => kv.key === entry.name || survivors[index])
          if (!admitted(line(left)).includes(entry.id)) continue
          const watched = blockerOf(seen, entry)
          const now = admitted(line(left))
          // One who comes to hold writes that down, which is an event, too.
          const stays = ({ key }: KeyValue) =>
            left.some((kv) => kv.key === key) &&
            !seen.waiting.some(({ name, id }) => name === key && now.includes(id))
          expect(kvs.filter(({ key }) => isIn(key, watched)).every(stays)).toBe(false)
        }
      }),
    )
  })

  it('is one key for an exclusive claim and for a reader', () => {
    const seen = line(keptOf([EXCLUSIVE, SHARED, EXCLUSIVE, SHARED, SHARED]))
    const watched = ['b', 'c', 'd', 'e'].map((id) => blockerOf(seen, findEntry(seen, id) as Entry))
    const named = watched.map((range) =>
      keptOf([EXCLUSIVE, SHARED, EXCLUSIVE]).findIndex(({ key }) => isIn(key, range)),
    )
    expect(named.map(letter)).toEqual(['a', 'b', 'c', 'c'])
    expect(watched.every((range) => range?.end === '')).toBe(true)
  })
})

/** As etcd reads a range: one key, or all from it to the end. */
function isIn(key: string, range: { readonly key: string; readonly end: string } | null): boolean {
  if (range === null) return false
  return range.end === '' ? key === range.key : key >= range.key && key < range.end
}
