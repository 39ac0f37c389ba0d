import { describe, expect, it } from 'vitest'
import { examine } from '../../lab/faults/check/index.ts'
import { lockModel } from '../../lab/faults/check/model.ts'
import type { Story } from '../../lab/faults/check/story.ts'
import { EXPECTATIONS } from '../../lab/faults/expectations.ts'
import { RECOVERY_SLACK_MS } from '../../lab/faults/settings.ts'
import { Tale } from './history.ts'

const STRICT = { weaknesses: {}, failoverMs: 0, fifo: true }
const FORGETFUL = { ...STRICT, weaknesses: { flush: 'it forgets' } }
const RULES = { ttlMs: 2000, permits: 3, weaknesses: [] }

function found(story: Story, expectations: typeof STRICT = STRICT): string[] {
  return [...new Set(examine(story, expectations).violations.map(({ check }) => check))]
}

describe('a history in which nothing is wrong', () => {
  it('is found to be good', () => {
    const tale = new Tale()
      .visit(0, 10, 'a-1', 1)
      .asked(2, 'b-1')
      .waiting(3, 'b-1')
      .granted(12, 'b-1', 2)
      .released(20, 'b-1')
      .visit(30, 40, 'a-2', 3, 'shared')
      .visit(32, 45, 'b-2', 4, 'shared')
    expect(found(tale.story)).toEqual([])
  })
})

describe('overlaps', () => {
  it('two valid leases at once are class A', () => {
    const verdict = examine(new Tale().visit(0, 50, 'a-1', 1).visit(30, 60, 'b-1', 2).story, STRICT)
    expect(verdict).toMatchObject({ classA: 1, classC: [] })
  })

  it('are class C after a fault that the store has announced, for a ttl and no longer', () => {
    const soon = new Tale().fault(20, 20, 'flush').visit(0, 50, 'a-1', 1).visit(30, 60, 'b-1', 2)
    expect(examine(soon.story, FORGETFUL)).toMatchObject({
      classA: 0,
      classC: [{ class: 'C' }],
      violations: [],
    })
    const late = new Tale().fault(20, 20, 'flush').visit(3000, 3050, 'a-1', 1).visit(3030, 3060, 'b-1', 2)
    expect(examine(late.story, FORGETFUL)).toMatchObject({ classA: 1 })
  })

  it('count until the deadline of a holder that says nothing more', () => {
    const silent = new Tale().asked(0, 'a-1').granted(1, 'a-1', 1, 2000).visit(1500, 1510, 'b-1', 2)
    expect(found(silent.story)).toContain('overlap')
    const later = new Tale().asked(0, 'a-1').granted(1, 'a-1', 1, 2000).visit(2001, 2010, 'b-1', 2)
    expect(found(later.story)).toEqual([])
  })

  it('end with the death of a holder', () => {
    const tale = new Tale().asked(0, 'a-1').granted(1, 'a-1', 1, 2000)
    tale.tell(500, 'runner', { f: 'crashed', worker: 'a' }).visit(600, 610, 'b-1', 2)
    expect(found(tale.story)).toEqual([])
  })

  it('a writer beside a reader, and more permits than there are', () => {
    expect(found(new Tale().visit(0, 50, 'a-1', 1, 'shared').visit(30, 60, 'b-1', 2).story)).toContain(
      'overlap',
    )
    const permits = new Tale()
      .visit(0, 50, 'a-1', 1, 'permits', 2)
      .visit(10, 50, 'b-1', 2, 'permits', 1)
      .visit(20, 50, 'c-1', 3, 'permits', 1)
    expect(found(permits.story)).toContain('overlap')
  })
})

describe('tokens', () => {
  it('that fall or repeat are found', () => {
    expect(found(new Tale().visit(0, 10, 'a-1', 5).visit(20, 30, 'b-1', 4).story)).toContain('tokens')
    expect(found(new Tale().visit(0, 10, 'a-1', 5).visit(20, 30, 'b-1', 5).story)).toContain('tokens')
  })

  it('of a hold that the store forgot, and its process handed on before it knew, are those of the old hold', () => {
    const tale = (grantedMs: number) =>
      new Tale()
        .fault(20, 20, 'flush')
        .asked(grantedMs - 1, 'a-1', { handover: true })
        .granted(grantedMs, 'a-1', 256)
        .visit(30, 60, 'b-1', 512)
        .asked(35, 'a-2', { handover: true })
        .released(40, 'a-1')
        .granted(41, 'a-2', 257)
        .released(50, 'a-2', 'expired').story
    expect(found(tale(10), FORGETFUL)).toEqual([])
    expect(found(tale(10))).toContain('tokens')
    // A hold that was granted after the fault was not forgotten by it.
    expect(found(tale(25), FORGETFUL)).toContain('tokens')
  })

  it('of claims that were made at the same time may be told in another order', () => {
    const tale = new Tale()
      .asked(0, 'a-1', { mode: 'shared' })
      .asked(1, 'b-1', { mode: 'shared' })
      .granted(5, 'a-1', 2)
      .granted(6, 'b-1', 1)
    expect(found(tale.story)).toEqual([])
  })
})

describe('writes', () => {
  const late = () =>
    new Tale()
      .asked(0, 'a-1')
      .granted(1, 'a-1', 1, 2000)
      .write(5, 'a-1', 1)
      .visit(2100, 2200, 'b-1', 2)
      .write(2150, 'b-1', 2)

  it('of somebody who is late are class B, and harmless when they are refused', () => {
    const verdict = examine(late().write(2300, 'a-1', 1, false).story, STRICT)
    expect(verdict).toMatchObject({ classB: { refused: 1, accepted: 0 }, staleWrites: 0, violations: [] })
  })

  it('are stale when they are accepted after those of a later holder', () => {
    expect(examine(late().write(2300, 'a-1', 1).story, STRICT)).toMatchObject({ staleWrites: 1 })
  })
})

describe('time', () => {
  it('a key that nobody gets after a fault has not recovered', () => {
    const tale = new Tale()
      .visit(0, 10, 'a-1', 1)
      .fault(20, 100, 'server kill')
      .asked(50, 'b-1', { waitMs: 9000 })
    expect(found(tale.granted(4900, 'b-1', 2).story)).toEqual(['recovery'])
  })

  it('a key that closes again in the same calm has not recovered either', () => {
    const tale = new Tale()
      .visit(0, 10, 'a-1', 1)
      .fault(20, 100, 'server kill')
      .visit(150, 160, 'a-2', 2)
      .asked(170, 'b-1', { waitMs: 9000 })
    expect(found(tale.granted(4900, 'b-1', 3).story)).toContain('recovery')
  })

  it.each(Object.entries(EXPECTATIONS))(
    'a key that is wanted is free after ttl + 4 s of calm on %s',
    (_, { failoverMs }) => {
      expect(RECOVERY_SLACK_MS + failoverMs).toBeLessThanOrEqual(4000)
    },
  )

  it('a key that somebody holds is not late, and a calm that ends too early proves nothing', () => {
    const held = new Tale()
      .visit(0, 10, 'a-1', 1)
      .fault(20, 100, 'server kill')
      .asked(110, 'a-2')
      .granted(111, 'a-2', 2, 5000)
      .asked(150, 'b-1', { waitMs: 9000 })
    expect(found(held.released(4990, 'a-2').granted(5100, 'b-1', 3).story)).toEqual([])
    const faults = new Tale().visit(0, 10, 'a-1', 1)
    for (let at = 20; at < 9000; at += 3000) faults.fault(at, at + 100, 'server kill')
    expect(found(faults.asked(50, 'b-1', { waitMs: 9000 }).granted(8000, 'b-1', 2).story)).toEqual([])
  })

  it('a holder that no process knows of is a ghost', () => {
    const named = (heldMs: number, token: string) =>
      new Tale()
        .visit(0, 10, 'a-1', 1)
        .tell(9000, 'runner', { f: 'holder', key: 'k', label: 'a', token, heldMs })
    expect(found(named(8000, '512').story)).toEqual(['ghost'])
    expect(found(named(300, '512').story), 'its process may be about to hear of it').toEqual([])
    const handed = named(8000, '256').visit(8000, 8900, 'a-2', 257)
    expect(found(handed.story), 'a hold that is handed over keeps its place in the store').toEqual([])
  })

  it('a key that nobody wants has nothing to recover from, and a machine that stands still blames nobody', () => {
    const unwanted = new Tale()
      .visit(0, 10, 'a-1', 1)
      .fault(20, 100, 'server kill')
      .visit(9000, 9001, 'b-1', 2)
    expect(found(unwanted.story)).toEqual([])
    const stalled = new Tale()
      .visit(0, 10, 'a-1', 1)
      .fault(20, 100, 'server kill')
      .asked(50, 'b-1', { waitMs: 9000 })
    stalled.tell(3000, 'runner', { f: 'stalled', forMs: 2800 })
    expect(found(stalled.granted(4900, 'b-1', 2).story)).toEqual([])
  })

  it('a waiter that is not served in a calm has lost a wake-up', () => {
    const tale = new Tale().asked(0, 'b-1').waiting(2, 'b-1').visit(1, 10, 'a-1', 1).granted(2500, 'b-1', 2)
    expect(found(tale.story)).toEqual(['wake-up'])
    expect(found(tale.fault(500, 600, 'network cut').story)).toEqual([])
  })

  it('a process that is never answered in a calm is cut off', () => {
    const unanswered = (at: number, op: string) => (tale: Tale) =>
      tale.asked(at, op).tell(at + 1, 'b', { f: 'unknown', op, why: 'STORE_UNAVAILABLE' })
    const tale = new Tale().visit(0, 10, 'a-1', 1)
    for (let at = 100, op = 0; at < 11_000; at += 100) unanswered(at, `b-${++op}`)(tale)
    expect(found(tale.story)).toEqual(['cut off'])
    expect(found(tale.fault(3000, 6000, 'server kill').story), 'a fault is an excuse').toEqual([])
    const answered = new Tale().visit(0, 10, 'a-1', 1).visit(6000, 6010, 'b-0', 2)
    for (let at = 100, op = 0; at < 11_000; at += 100) unanswered(at, `b-${++op}`)(answered)
    expect(found(answered.story), 'one answer is enough').toEqual([])
    const long = new Tale()
      .visit(0, 10, 'a-1', 1)
      .visit(100, 110, 'a-2', 2)
      .fault(40_000, 41_000, 'server kill')
    expect(found(long.until(50_000).story), 'what comes later does not count').toEqual([])
    const idle = new Tale().visit(0, 10, 'a-1', 1).visit(30_000, 30_010, 'a-2', 2)
    expect(found(idle.story), 'who does not ask misses nothing').toEqual([])
  })

  it('a process that died in the queue waits for nothing', () => {
    const tale = new Tale().asked(0, 'b-1').waiting(2, 'b-1').visit(1, 100, 'a-1', 1)
    tale.tell(50, 'runner', { f: 'crashed', worker: 'b' }).until(5000)
    expect(found(tale.story)).toEqual([])
  })

  it('a call that does not come back in its time is found', () => {
    expect(found(new Tale().asked(0, 'a-1', { waitMs: 100 }).until(9000).story)).toEqual([
      'recovery',
      'settled',
    ])
    const dead = new Tale().asked(0, 'a-1', { waitMs: 100 }).tell(50, 'runner', { f: 'crashed', worker: 'a' })
    expect(found(dead.until(9000).story)).toEqual([])
  })
})

describe('order', () => {
  const overtaken = (handover: boolean) =>
    new Tale()
      .visit(0, 30, 'a-1', 1)
      .asked(2, 'b-1', { handover })
      .waiting(5, 'b-1')
      .asked(10, 'c-1', { handover })
      .granted(32, 'c-1', 2)
      .released(40, 'c-1')
      .granted(45, 'b-1', 3)

  it('a process that overtook one in the queue is found', () => {
    expect(found(overtaken(false).story)).toEqual(['order'])
  })

  it('is not asked for where keys are handed over, nor of a store that lets them race, nor in a fault', () => {
    expect(found(overtaken(true).story)).toEqual([])
    expect(found(overtaken(false).story, { ...STRICT, fifo: false })).toEqual([])
    expect(found(overtaken(false).fault(20, 21, 'network cut').story)).toEqual([])
  })
})

describe('the model of a lock', () => {
  const judged = (story: Story) => lockModel(story, RULES).map(({ check }) => check)

  it('has no order for two holders at once', () => {
    expect(judged(new Tale().visit(0, 50, 'a-1', 1).visit(30, 60, 'b-1', 2).story)).toEqual(['linearizable'])
  })

  it('has none for a token that falls, although nobody overlaps', () => {
    expect(judged(new Tale().visit(0, 10, 'a-1', 2).visit(20, 30, 'b-1', 1).story)).toEqual(['linearizable'])
  })

  it('explains a grant by what a store forgot, even before the other had heard of its own', () => {
    const tale = new Tale().fault(10, 11, 'flush').asked(5, 'a-1').asked(8, 'b-1').granted(14, 'b-1', 2)
    const story = tale.granted(15, 'a-1', 1).released(20, 'a-1').released(21, 'b-1').story
    expect(lockModel(story, RULES)).toHaveLength(1)
    expect(lockModel(story, { ...RULES, weaknesses: ['flush'] })).toEqual([])
  })

  it('lets a lease be over before its holder hears of it', () => {
    const tale = new Tale()
      .asked(0, 'a-1')
      .visit(2500, 2600, 'b-1', 2)
      .granted(2700, 'a-1', 1, 0)
      .released(2701, 'a-1', 'expired')
    expect(judged(tale.story)).toEqual([])
    expect(found(tale.story)).toEqual([])
  })

  it('explains a grant by a release whose outcome is unknown', () => {
    const tale = new Tale().asked(0, 'a-1').granted(1, 'a-1', 1).released(10, 'a-1', 'unknown')
    expect(judged(tale.visit(20, 30, 'b-1', 2).story)).toEqual([])
  })

  it('finds the order of many that wait for each other', () => {
    const tale = new Tale()
    for (let turn = 0; turn < 400; turn++) {
      const op = `${'abcd'[turn % 4]}-${turn}`
      tale
        .asked(Math.max(0, turn * 10 - 35), op)
        .granted(turn * 10 + 1, op, turn + 1)
        .released(turn * 10 + 8, op)
    }
    expect(judged(tale.story)).toEqual([])
  })
})

describe('a history that is too hard', () => {
  // Any of them may have ended first, and whatever the order, what comes after them makes no sense.
  const readers = Array.from({ length: 30 }, (_, place) => place + 1)
  const tale = new Tale()
  for (const place of readers) {
    const op = `r${place}-1`
    tale.asked(place, op, { mode: 'shared' }).granted(place + 0.5, op, place + 10)
    tale.tell(100, `r${place}`, { f: 'releasing', op })
    tale.tell(200, `r${place}`, { f: 'released', op, outcome: 'released' })
  }
  tale.visit(300, 310, 'w-1', 1)

  it('is given up, which proves nothing and fails the run', () => {
    const what = expect.stringMatching(/unknown, gave up after \d+ states/)
    expect(examine(tale.story, STRICT).violations).toContainEqual(
      expect.objectContaining({ check: 'linearizable', what }),
    )
  })
})

it('leftovers and complaints break a promise', () => {
  const tale = new Tale().visit(0, 10, 'a-1', 1)
  tale.tell(20, 'runner', { f: 'left', what: 'k: 1 holder' })
  tale.tell(21, 'runner', { f: 'complaint', text: 'a process ended with 1' })
  expect(found(tale.story)).toEqual(['leftovers', 'manners'])
})
