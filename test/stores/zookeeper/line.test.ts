import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Claim, EMPTY, type KeyState, type Mode, step } from '../../../src/model/index.ts'
import {
  compareSeq,
  findId,
  isContended,
  type Line,
  lineOf,
  type Place,
  positionOf,
  receptionOf,
  refusalOf,
  watchedBy,
} from '../../../src/stores/zookeeper/line.ts'
import {
  elementOf,
  nodeStem,
  type PlaceName,
  parseName,
  textOf,
} from '../../../src/stores/zookeeper/names.ts'

const EXCLUSIVE: Mode = { kind: 'exclusive' }
const SHARED: Mode = { kind: 'shared' }
const permits = (limit: number, weight = 1): Mode => ({ kind: 'permits', limit, weight })
const RULES = { offerMs: 1000, keepSeqMs: 0 }
const CLOCK = { nowMs: 0, stampUs: 1 }

function claim(id: string, changes: Partial<Claim> = {}): Claim {
  return {
    key: 'key',
    id,
    mode: EXCLUSIVE,
    ttlMs: 1000,
    queue: true,
    owner: null,
    actor: null,
    label: '',
    meta: null,
    lockDelayMs: 0,
    group: null,
    replaces: null,
    ...changes,
  }
}

/** As ZooKeeper writes sequence numbers: ten digits, and a sign below zero. */
function numbered(stem: string, seq: number): string {
  return stem + (seq < 0 ? String(seq) : String(seq).padStart(10, '0'))
}

function nameOf(wanted: Claim, seq: number, place: PlaceName | null = null): string {
  return numbered(nodeStem(wanted, place), seq)
}

/** A node for each mode, named a, b, c, … */
function namesOf(modes: readonly Mode[], firstSeq = 0): string[] {
  return modes.map((mode, index) => nameOf(claim(letter(index), { mode }), (firstSeq + index) | 0))
}

function letter(index: number): string {
  return String.fromCharCode(97 + index)
}

function idsOf(line: Line, which: (place: Place) => boolean): string[] {
  return line.filter(which).flatMap(({ nodes }) => nodes.map(({ id }) => id))
}

const holding = ({ holds }: Place) => holds
const waiting = ({ holds }: Place) => !holds

function watchedIds(line: Line, id: string): string[] {
  const { place } = findId(line, id) as { place: Place }
  return watchedBy(line, place).map((name) => parseName(name).id)
}

const lockModes = fc.array(fc.constantFrom(EXCLUSIVE, SHARED), { maxLength: 12 })
const permitModes = fc.integer({ min: 1, max: 6 }).chain((limit) =>
  fc.array(
    fc.integer({ min: 1, max: limit }).map((weight) => permits(limit, weight)),
    { maxLength: 12 },
  ),
)
const modesOfOneKey = fc.oneof(lockModes, permitModes)

describe('names', () => {
  it('give back what they were made from', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    const mode = fc.oneof(fc.constantFrom(EXCLUSIVE, SHARED), fc.constant(permits(7, 3)))
    const seq = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
    const place = fc.option(fc.record({ seq, founder: fc.bigInt({ min: 0n, max: 2n ** 55n }) }))
    fc.assert(
      fc.property(
        text,
        fc.option(text),
        mode,
        fc.boolean(),
        seq,
        place,
        (id, owner, mode, queue, seq, place) => {
          const name = nameOf(claim(id, { owner, mode, queue }), seq, place)
          expect(name).not.toMatch(/[/\s]/)
          expect(parseName(name)).toEqual({ name, id, owner, mode, queued: queue, seq, place })
        },
      ),
    )
  })

  it('keep every key apart, as one element of a path', () => {
    const keys = fc.uniqueArray(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 2 })
    fc.assert(
      fc.property(keys, (keys) => {
        const elements = keys.map(elementOf)
        expect(new Set(elements).size).toBe(keys.length)
        expect(elements.map(textOf)).toEqual(keys)
        for (const element of elements) expect(element).toMatch(/^(?!\.{1,2}$)[!-.0-~]+$/)
      }),
    )
    expect(['.', '..', '...'].map(elementOf)).toEqual(['%2E', '%2E%2E', '...'])
  })

  it('of another format are refused', () => {
    expect(() => parseName('1,id,x,q,,,0000000000')).toThrow(/another version/)
    expect(() => parseName('lock-0000000000')).toThrow(/another version/)
  })
})

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
        let names = namesOf(modes)
        const same = () => {
          const line = lineOf(names)
          expect(idsOf(line, holding).sort()).toEqual(
            state.holds.flatMap(({ members }) => members.map(({ id }) => id)).sort(),
          )
          expect(idsOf(line, waiting)).toEqual(state.line.map((waiter) => waiter.claim.id))
          expect(isContended(line)).toBe(state.line.length > 0)
          for (const [index, waiter] of state.line.entries()) {
            expect(positionOf(line, findId(line, waiter.claim.id)?.place as Place)).toBe(index + 1)
          }
        }
        same()
        for (const index of leaving) {
          names = names.filter((name) => parseName(name).id !== letter(index))
          state = step(state, { kind: 'release', id: letter(index) }, CLOCK, RULES).state
          same()
        }
      }),
    )
  })

  it('stays so when others come and go', () => {
    fc.assert(
      fc.property(modesOfOneKey, modesOfOneKey, fc.nat(), (modes, more, gone) => {
        const before = idsOf(lineOf(namesOf(modes)), holding)
        const survivors = namesOf([...modes, ...more]).filter(
          (_, index) => index !== gone % (modes.length + 1),
        )
        const after = idsOf(lineOf(survivors), holding)
        const left = before.filter((id) => survivors.some((name) => parseName(name).id === id))
        expect(after).toEqual(expect.arrayContaining(left))
      }),
    )
  })

  it('does not depend on where the numbers begin, nor on the order of the listing', () => {
    const first = fc.constantFrom(0, 2 ** 31 - 3, 2 ** 31 - 1, -(2 ** 31), -3)
    fc.assert(
      fc.property(modesOfOneKey, first, (modes, first) => {
        const plain = lineOf(namesOf(modes))
        const shifted = lineOf(namesOf(modes, first).reverse())
        const shape = (line: Line) => line.map(({ nodes, holds }) => [nodes[0]?.id, holds])
        expect(shape(shifted)).toEqual(shape(plain))
      }),
    )
    expect(compareSeq(2 ** 31 - 1, -(2 ** 31))).toBeLessThan(0)
    expect(compareSeq(-(2 ** 31), 2 ** 31 - 1)).toBeGreaterThan(0)
  })

  it('is nobody beside one who uses the key in another way', () => {
    const line = lineOf(namesOf([EXCLUSIVE, permits(3)]))
    expect(idsOf(line, holding)).toEqual(['a'])
    expect(refusalOf(line, claim('c', { mode: permits(3) }))).toMatchObject({ reason: 'mode' })
    expect(refusalOf(lineOf(namesOf([permits(3)])), claim('c', { mode: permits(4) }))).toMatchObject({
      reason: 'limit',
    })
  })
})

describe('whom to watch', () => {
  it('always includes one of those who must go first', () => {
    const survivors = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(modesOfOneKey, survivors, (modes, survivors) => {
        const names = namesOf(modes)
        const line = lineOf(names)
        for (const place of line.filter(waiting)) {
          const own = place.nodes[0]?.name as string
          const left = names.filter((name, index) => name === own || survivors[index])
          const nowHolds = findId(lineOf(left), parseName(own).id)?.place.holds === true
          if (nowHolds) expect(watchedBy(line, place).every((name) => left.includes(name))).toBe(false)
        }
      }),
    )
  })

  it('is the one before an exclusive claim, and nobody else', () => {
    const line = lineOf(namesOf([SHARED, SHARED, EXCLUSIVE, EXCLUSIVE]))
    expect(watchedIds(line, 'c')).toEqual(['b'])
    expect(watchedIds(line, 'd')).toEqual(['c'])
  })

  it('is the last writer before a reader', () => {
    const line = lineOf(namesOf([EXCLUSIVE, SHARED, EXCLUSIVE, SHARED, SHARED]))
    expect(watchedIds(line, 'b')).toEqual(['a'])
    expect(watchedIds(line, 'd')).toEqual(['c'])
    expect(watchedIds(line, 'e')).toEqual(['c'])
  })

  it('are as many as there are permits, so that those who go in their order wake one each', () => {
    const line = lineOf(namesOf([1, 2, 3, 4, 5, 6].map(() => permits(2))))
    expect(['c', 'd', 'e', 'f'].map((id) => watchedIds(line, id))).toEqual([
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
      ['d', 'e'],
    ])
  })

  it('counts weights', () => {
    const line = lineOf(namesOf([permits(4, 1), permits(4, 3), permits(4, 2)]))
    // 2 too many: the light one alone is not enough.
    expect(watchedIds(line, 'c')).toEqual(['b'])
  })
})

describe('named owners', () => {
  const owner = 'workflow 7'
  const at: PlaceName = { seq: 0, founder: 5n }

  it('join their own hold past the line, and share its place', () => {
    const names = [
      nameOf(claim('a', { owner }), 0),
      nameOf(claim('b'), 1),
      nameOf(claim('c', { owner }), 2, at),
    ]
    const line = lineOf(names)
    expect(line.map(({ nodes }) => nodes.map(({ id }) => id))).toEqual([['a', 'c'], ['b']])
    expect(receptionOf(line, claim('d', { owner }))).toMatchObject({ kind: 'join', place: { seq: 0 } })
    expect(idsOf(lineOf(names.slice(1)), holding), 'the hold outlives its founder').toEqual(['c'])
    expect(watchedIds(lineOf(names.slice(1)), 'b')).toEqual(['c'])
    expect(idsOf(lineOf(names.slice(1, 2)), holding)).toEqual(['b'])
  })

  it('count their permits once', () => {
    const mode = permits(3, 2)
    const names = [nameOf(claim('a', { owner, mode }), 0), nameOf(claim('b', { owner, mode }), 1, at)]
    expect(receptionOf(lineOf(names), claim('c', { mode: permits(3, 1) })).kind).toBe('free')
    expect(receptionOf(lineOf(names), claim('c', { mode: permits(3, 2) })).kind).toBe('busy')
  })

  it('are refused what they do not hold', () => {
    const line = lineOf([nameOf(claim('a', { owner, mode: SHARED }), 0)])
    expect(receptionOf(line, claim('b', { owner }))).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(receptionOf(line, claim('b'))).toEqual({ kind: 'busy' })
  })

  it('are woken when another claim of theirs comes to hold', () => {
    const names = [
      nameOf(claim('a'), 0),
      nameOf(claim('b', { owner }), 1),
      nameOf(claim('c'), 2),
      nameOf(claim('d', { owner }), 3),
    ]
    expect(watchedIds(lineOf(names), 'd').sort()).toEqual(['a', 'c'])
  })
})

describe('those who do not stay', () => {
  it('are not in the line, but in the way', () => {
    const line = lineOf([
      nameOf(claim('a'), 0),
      nameOf(claim('b', { queue: false }), 1),
      nameOf(claim('c'), 2),
    ])
    expect(isContended(line.slice(0, 2))).toBe(false)
    expect(positionOf(line, line[2] as Place)).toBe(1)
    expect(watchedIds(line, 'c')).toEqual(['b'])
  })
})
