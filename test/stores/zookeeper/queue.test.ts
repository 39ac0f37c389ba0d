import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Claim, EMPTY, type KeyState, type Mode, step } from '../../../src/model/index.ts'
import { requireKnown } from '../../../src/stores/zookeeper/format.ts'
import {
  elementOf,
  nodeStem,
  type PlaceName,
  parseName,
  textOf,
} from '../../../src/stores/zookeeper/names.ts'
import { compareSeq, type Place, Queue } from '../../../src/stores/zookeeper/queue.ts'

const EXCLUSIVE: Mode = { kind: 'exclusive' }
const SHARED: Mode = { kind: 'shared' }
const permits = (limit: number, weight = 1): Mode => ({ kind: 'permits', limit, weight })
const RULES = { offerMs: 1000, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY }
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

const idsOf = (places: readonly Place[]) => places.flatMap(({ nodes }) => nodes.map(({ id }) => id))
const holding = (names: readonly string[]) => idsOf(new Queue(names).holders)
const waiting = (names: readonly string[]) => idsOf(new Queue(names).waiters)
const placeOf = (queue: Queue, id: string) => queue.findId(id)?.place as Place

function watchedIds(names: readonly string[], id: string): string[] {
  const queue = new Queue(names)
  return queue.watchedBy(placeOf(queue, id)).map((name) => parseName(name).id)
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
          expect(parseName(name)).toEqual({
            name,
            id,
            owner,
            mode,
            queued: queue,
            seq,
            place,
            foreign: false,
          })
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

  it.each(['1,id,x,q,,,0000000000', '2,id,x,q,,,0000000001', '4,id,new', 'lock-0000000000'])(
    'of another format stand last: %s',
    (name) => {
      const own = '3,ann,x,q,,,0000000007'
      const queue = new Queue([name, own])
      const namesOfPlaces = (places: readonly Place[]) => places.map(({ nodes }) => nodes[0]?.name)
      expect(namesOfPlaces(queue.holders)).toEqual([own])
      expect(namesOfPlaces(queue.waiters)).toEqual([name])
      expect(queue.isContended).toBe(true)
      expect(namesOfPlaces(new Queue([name]).holders)).toEqual([name])
      expect(() => requireKnown(queue)).toThrow(/another version/)
      expect(() => requireKnown(new Queue([own]))).not.toThrow()
    },
  )
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
        // One that learns what happens step by step, as a process does that never lists again.
        const kept = new Queue(names)
        const same = () => {
          for (const queue of [new Queue(names), kept]) {
            expect(idsOf(queue.holders).sort()).toEqual(
              state.holds.flatMap(({ members }) => members.map(({ id }) => id)).sort(),
            )
            expect(idsOf(queue.waiters)).toEqual(state.queue.map((waiter) => waiter.claim.id))
            expect(queue.isContended).toBe(state.queue.length > 0)
            for (const [index, waiter] of state.queue.entries())
              expect(queue.positionOf(placeOf(queue, waiter.claim.id))).toBe(index + 1)
          }
        }
        same()
        for (const index of leaving) {
          names = names.filter((name) => parseName(name).id !== letter(index))
          const gone = kept.findId(letter(index))?.node.name
          if (gone !== undefined) kept.remove(gone)
          state = step(state, { kind: 'release', id: letter(index) }, CLOCK, RULES).state
          same()
        }
      }),
    )
  })

  it('stays so when others come and go', () => {
    fc.assert(
      fc.property(modesOfOneKey, modesOfOneKey, fc.nat(), (modes, more, gone) => {
        const before = holding(namesOf(modes))
        const survivors = namesOf([...modes, ...more]).filter(
          (_, index) => index !== gone % (modes.length + 1),
        )
        const left = before.filter((id) => survivors.some((name) => parseName(name).id === id))
        expect(holding(survivors)).toEqual(expect.arrayContaining(left))
      }),
    )
  })

  it('is never said too early by a queue that has places which are gone', () => {
    const gone = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(modesOfOneKey, gone, gone, (modes, gone, noticed) => {
        const names = namesOf(modes)
        const truth = names.filter((_, index) => !gone[index])
        const stale = names.filter((_, index) => !gone[index] || !noticed[index])
        const there = truth.map((name) => parseName(name).id)
        const said = holding(stale).filter((id) => there.includes(id))
        expect(holding(truth)).toEqual(expect.arrayContaining(said))
      }),
    )
  })

  it('does not depend on where the numbers begin, nor on the order of the listing', () => {
    const first = fc.constantFrom(0, 2 ** 31 - 3, 2 ** 31 - 1, -(2 ** 31), -3)
    fc.assert(
      fc.property(modesOfOneKey, first, (modes, first) => {
        const plain = namesOf(modes)
        const shifted = namesOf(modes, first).reverse()
        expect(holding(shifted)).toEqual(holding(plain))
        expect(waiting(shifted)).toEqual(waiting(plain))
      }),
    )
    expect(compareSeq(2 ** 31 - 1, -(2 ** 31))).toBeLessThan(0)
    expect(compareSeq(-(2 ** 31), 2 ** 31 - 1)).toBeGreaterThan(0)
  })

  it('is nobody beside one who uses the key in another way', () => {
    const names = namesOf([EXCLUSIVE, permits(3)])
    expect(holding(names)).toEqual(['a'])
    expect(new Queue(names).refusalOf(claim('c', { mode: permits(3) }))).toMatchObject({ reason: 'mode' })
    expect(new Queue(namesOf([permits(3)])).refusalOf(claim('c', { mode: permits(4) }))).toMatchObject({
      reason: 'limit',
    })
    expect(holding(namesOf([permits(3), EXCLUSIVE, permits(3), permits(3)]))).toEqual(['a'])
  })

  it('is nobody any more behind an exclusive one that held until it went', () => {
    const queue = new Queue(namesOf([SHARED, EXCLUSIVE, SHARED, EXCLUSIVE]))
    queue.removeThrough(namesOf([SHARED, EXCLUSIVE])[1] as string)
    expect(idsOf(queue.holders)).toEqual(['c'])
    expect(idsOf(queue.waiters)).toEqual(['d'])
  })
})

describe('a long queue', () => {
  /** How many places of the queue are looked at while `work` is done. */
  function looksDuring(queue: Queue, work: () => void): number {
    let looks = 0
    const own = queue as unknown as Record<'places' | 'writers', Place[]>
    for (const name of ['places', 'writers'] as const)
      own[name] = new Proxy(own[name], {
        get(places, at) {
          if (typeof at === 'string' && /^\d+$/.test(at)) looks++
          return Reflect.get(places, at)
        },
      })
    work()
    return looks
  }

  it.each([
    ['writers', EXCLUSIVE, EXCLUSIVE],
    ['readers', EXCLUSIVE, SHARED],
    ['permits', permits(10), permits(10)],
  ])('of %s costs a claim that joins no more than a short one, but for a few looks', (_, first, mode) => {
    const looksAt = (size: number): number => {
      const joining = claim('joining', { mode })
      const own = nameOf(joining, size)
      const others = Array.from({ length: size }, (_, seq) =>
        nameOf(claim(`claim ${seq}`, { mode: seq === 0 ? first : mode }), seq),
      )
      const queue = new Queue(others)
      return looksDuring(queue, () => {
        queue.add(parseName(own))
        const { place } = queue.findId(joining.id) ?? {}
        expect(place).toBe(queue.find(own))
        expect(queue.holds(place as Place)).toBe(false)
        expect(queue.refusalOf(joining)).toBeNull()
        queue.watchedBy(place as Place)
      })
    }
    const [short, long] = [looksAt(100), looksAt(10_000)]
    expect(long).toBeGreaterThan(short)
    expect(long - short).toBeLessThan(100)
  })

  it('finds the first node of a claim that was made twice, and the other when that goes', () => {
    const twice = claim('twice')
    const names = [nameOf(claim('a'), 0), nameOf(twice, 1), nameOf(claim('b'), 2), nameOf(twice, 3)]
    const queue = new Queue([...names].reverse())
    expect(queue.findId('twice')?.node.name).toBe(names[1])
    queue.remove(names[1] as string)
    expect(queue.findId('twice')?.node.name).toBe(names[3])
    queue.removeThrough(names[3] as string)
    expect(queue.findId('twice')).toBeUndefined()
    expect(queue.findId('a')).toBeUndefined()
  })
})

describe('whom to watch', () => {
  it('always includes one of those who must go first', () => {
    const survivors = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 })
    fc.assert(
      fc.property(modesOfOneKey, survivors, (modes, survivors) => {
        const names = namesOf(modes)
        const queue = new Queue(names)
        for (const place of queue.waiters) {
          const own = place.nodes[0]?.name as string
          const left = names.filter((name, index) => name === own || survivors[index])
          if (holding(left).includes(parseName(own).id))
            expect(queue.watchedBy(place).every((name) => left.includes(name))).toBe(false)
        }
      }),
    )
  })

  it('is the one before an exclusive claim, and nobody else', () => {
    const names = namesOf([SHARED, SHARED, EXCLUSIVE, EXCLUSIVE])
    expect(watchedIds(names, 'c')).toEqual(['b'])
    expect(watchedIds(names, 'd')).toEqual(['c'])
  })

  it('is the last writer before a reader', () => {
    const names = namesOf([EXCLUSIVE, SHARED, EXCLUSIVE, SHARED, SHARED])
    expect(watchedIds(names, 'b')).toEqual(['a'])
    expect(watchedIds(names, 'd')).toEqual(['c'])
    expect(watchedIds(names, 'e')).toEqual(['c'])
  })

  it('are as many as there are permits, so that those who go in their order wake one each', () => {
    const names = namesOf([1, 2, 3, 4, 5, 6].map(() => permits(2)))
    expect(['c', 'd', 'e', 'f'].map((id) => watchedIds(names, id))).toEqual([
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
      ['d', 'e'],
    ])
  })

  it('counts weights', () => {
    const names = namesOf([permits(4, 1), permits(4, 3), permits(4, 2)])
    // 2 too many: the light one alone is not enough.
    expect(watchedIds(names, 'c')).toEqual(['b'])
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
    const queue = new Queue(names)
    expect(holding(names)).toEqual(['a', 'c'])
    expect(waiting(names)).toEqual(['b'])
    expect(queue.receptionOf(claim('d', { owner }))).toMatchObject({ kind: 'join', place: { seq: 0 } })
    expect(holding(names.slice(1)), 'the hold outlives its founder').toEqual(['c'])
    expect(watchedIds(names.slice(1), 'b')).toEqual(['c'])
    expect(holding(names.slice(1, 2))).toEqual(['b'])
  })

  it('count their permits once', () => {
    const mode = permits(3, 2)
    const names = [nameOf(claim('a', { owner, mode }), 0), nameOf(claim('b', { owner, mode }), 1, at)]
    expect(new Queue(names).receptionOf(claim('c', { mode: permits(3, 1) })).kind).toBe('free')
    expect(new Queue(names).receptionOf(claim('c', { mode: permits(3, 2) })).kind).toBe('busy')
  })

  it('are refused what they do not hold', () => {
    const queue = new Queue([nameOf(claim('a', { owner, mode: SHARED }), 0)])
    expect(queue.receptionOf(claim('b', { owner }))).toMatchObject({ kind: 'refused', reason: 'upgrade' })
    expect(queue.receptionOf(claim('b'))).toEqual({ kind: 'busy' })
  })

  it('are woken when another claim of theirs comes to hold', () => {
    const names = [
      nameOf(claim('a'), 0),
      nameOf(claim('b', { owner }), 1),
      nameOf(claim('c'), 2),
      nameOf(claim('d', { owner }), 3),
    ]
    expect(watchedIds(names, 'd').sort()).toEqual(['a', 'c'])
  })
})

describe('those who do not stay', () => {
  it('are not in the line, but in the way', () => {
    const names = [nameOf(claim('a'), 0), nameOf(claim('b', { queue: false }), 1), nameOf(claim('c'), 2)]
    expect(new Queue(names.slice(0, 2)).isContended).toBe(false)
    expect(watchedIds(names, 'c')).toEqual(['b'])
  })
})
