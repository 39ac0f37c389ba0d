import { describe, expect, it } from 'vitest'
import type { HolderView, KeyView, WaiterView } from '../../../src/index.ts'
import { type DoctorContext, type Glimpse, glimpseOf } from '../../../src/observe/doctor/context.ts'
import { examineKey } from '../../../src/observe/doctor/examine.ts'
import { doctorSettings } from '../../../src/observe/doctor/options.ts'
import { examineServer, matches } from '../../../src/observe/doctor/server.ts'
import { argument, span, word } from '../../../src/observe/doctor/words.ts'
import { USUAL } from './usual.ts'

const WALL_MS = Date.UTC(2026, 10, 16)
const TOKEN = (BigInt(WALL_MS) * 1000n) << 8n

const PLAIN = { owner: null, actor: null, mode: 'exclusive', weight: 1, meta: null } as const

function holder(more: Partial<HolderView> = {}): HolderView {
  return { ...PLAIN, label: 'web:1', token: TOKEN, heldMs: 500, expiresInMs: 9000, ...more }
}

function waiter(more: Partial<WaiterView> = {}): WaiterView {
  return { ...PLAIN, label: 'web:2', waitedMs: 2000, ttlMs: 9000, expiresInMs: 8000, ...more }
}

function view(holders: HolderView[], queue: WaiterView[] = []): KeyView {
  return { key: "o'k:1", holders, queue: queue, token: TOKEN, limit: null, closedForMs: 0 }
}

/** How it was a second ago. */
function earlier({ holders, queue, ...rest }: KeyView): Glimpse {
  const younger = queue.map((each) => ({ ...each, waitedMs: each.waitedMs - 1000 }))
  return glimpseOf({ ...rest, holders, queue: younger })
}

function context(
  options: Parameters<typeof doctorSettings>[0] = {},
  more: Partial<DoctorContext> = {},
): DoctorContext {
  return {
    settings: doctorSettings(options),
    maxTtlMs: 86_400_000,
    elapsedMs: 1000,
    wallMs: WALL_MS,
    usualOf: () => null,
    whyGone: () => null,
    stoppedPid: () => null,
    isDeaf: () => false,
    ...more,
  }
}

function codes(now: KeyView, before: Glimpse | undefined, with_: DoctorContext): string[] {
  return examineKey(now, before, with_).map(({ code, severity }) => `${severity} ${code}`)
}

describe('a holder', () => {
  it('that is young, short of its ttl and alive is well', () => {
    const now = view([holder()], [waiter()])
    expect(codes(now, earlier(now), context({}, { usualOf: () => USUAL }))).toEqual([])
  })

  it('is held too long from ten times the usual on, if it had the key at both looks', () => {
    const usualOf = () => USUAL
    const now = view([holder({ heldMs: 2001 })])
    expect(codes(now, earlier(now), context({}, { usualOf }))).toEqual(['warning HELD_TOO_LONG'])
    expect(codes(now, undefined, context({}, { usualOf }))).toEqual([])
    const just = view([holder({ heldMs: 2000 })])
    expect(codes(just, earlier(just), context({}, { usualOf }))).toEqual([])
    const rare = { ...USUAL, holds: 19 }
    expect(codes(now, earlier(now), context({}, { usualOf: () => rare }))).toEqual([])
    const quick = { ...USUAL, closedP99Ms: 2 }
    const short = view([holder({ heldMs: 999 })])
    expect(codes(short, earlier(short), context({}, { usualOf: () => quick }))).toEqual([])
  })

  it('the usual can be said instead', () => {
    const now = view([holder({ heldMs: 501 })])
    expect(codes(now, earlier(now), context({ usual: '50ms' }))).toEqual(['warning HELD_TOO_LONG'])
    expect(codes(now, earlier(now), context({ usual: '51ms' }))).toEqual([])
  })

  it('has too long a ttl above the limit that is said, configured, or ten times the usual', () => {
    const now = view([holder({ expiresInMs: 100_001 })])
    expect(codes(now, undefined, context({ maxTtl: '100s' }))).toEqual(['warning TTL_TOO_LONG'])
    expect(codes(now, undefined, context())).toEqual([])
    expect(codes(now, undefined, context({}, { maxTtlMs: 100_000 }))).toEqual(['warning TTL_TOO_LONG'])
    expect(codes(now, undefined, context({}, { usualOf: () => USUAL }))).toEqual(['warning TTL_TOO_LONG'])
  })

  it('without an end came with another program', () => {
    expect(codes(view([holder({ expiresInMs: null, heldMs: null })]), undefined, context())).toEqual([
      'warning FOREIGN_NO_TTL',
    ])
  })

  it('whose process is gone is critical when others wait, and is the only finding about it', () => {
    const whyGoneNow = () => 'it ended'
    const gone = { whyGone: (label: string) => (label === 'web:1' ? whyGoneNow() : null) }
    const alone = view([holder({ expiresInMs: 99_999_999, heldMs: 99_999 })])
    expect(codes(alone, earlier(alone), context({ usual: 1 }, gone))).toEqual(['warning HOLDER_GONE'])
    const wanted = view([holder()], [waiter()])
    expect(codes(wanted, undefined, context({}, gone))).toEqual(['critical HOLDER_GONE'])
  })

  it('whose process is stopped is critical when others wait, and is the only finding about it', () => {
    const stopped = { stoppedPid: (label: string) => (label === 'web:1' ? 17 : null) }
    const alone = view([holder({ heldMs: 99_999 })])
    expect(codes(alone, earlier(alone), context({ usual: 1 }, stopped))).toEqual(['warning HOLDER_STOPPED'])
    const wanted = view([holder()], [waiter({ waitedMs: 99_999 })])
    const [found, ...more] = examineKey(wanted, earlier(wanted), context({}, stopped))
    expect([found?.code, found?.severity, more]).toEqual(['HOLDER_STOPPED', 'critical', []])
    expect(found?.evidence).toBe('web:1 has held it for 500 ms, and process 17 is stopped; 1 waiting')
    expect(found?.fix).toMatch(/^kill -CONT 17 .*holdfast evict 'o'\\''k:1' --token \d+$/)
  })

  it('without a listener is gone, if it was there at both looks', () => {
    const now = view([holder()])
    const deaf = context(
      {},
      { isDeaf: (role, key, label) => `${role} ${key} ${label}` === "holder o'k:1 web:1" },
    )
    expect(codes(now, earlier(now), deaf)).toEqual(['warning HOLDER_GONE'])
    expect(codes(now, undefined, deaf)).toEqual([])
  })

  it('is named in the command that fixes it, as one word of a shell', () => {
    const [found] = examineKey(view([holder({ expiresInMs: 10 })]), undefined, context({ maxTtl: 5 }))
    expect(found?.fix).toContain(`holdfast evict 'o'\\''k:1' --token ${TOKEN}`)
  })

  it('a token from the future shows a clock that is ahead', () => {
    const now = { ...view([holder()]), token: TOKEN + (10_001_000n << 8n) }
    expect(codes(now, undefined, context())).toEqual(['warning CLOCK_OFF'])
    expect(codes({ ...now, token: TOKEN + (9_999_000n << 8n) }, undefined, context())).toEqual([])
    expect(codes({ ...now, token: null }, undefined, context())).toEqual([])
  })
})

describe('a line', () => {
  it('is stuck when its head has waited for long and nothing moved', () => {
    const now = view([holder()], [waiter({ waitedMs: 60_001 })])
    expect(codes(now, earlier(now), context())).toEqual(['critical LINE_STUCK'])
    expect(codes(now, undefined, context())).toEqual([])
    const just = view([holder()], [waiter({ waitedMs: 60_000 })])
    expect(codes(just, earlier(just), context({ stuck: '60s' }))).toEqual([])
    expect(codes(just, earlier(just), context({ stuck: '59s' }))).toEqual(['critical LINE_STUCK'])
    expect(codes(just, earlier(just), context({}, { usualOf: () => USUAL }))).toEqual(['critical LINE_STUCK'])
  })

  it.each([
    [60_001, 'critical'],
    [60_000, 'warning'],
    [20_001, 'warning'],
    [20_000, 'note'],
    [5001, 'note'],
    [5000, null],
  ])('whose head has waited for %i ms is %s where nobody says what is usual', (waitedMs, severity) => {
    const now = view([holder()], [waiter({ waitedMs })])
    const expected = severity === null ? [] : [`${severity} LINE_STUCK`]
    expect(codes(now, earlier(now), context())).toEqual(expected)
  })

  it.each([
    [60_001, 'warning'],
    [60_000, 'note'],
    [5000, null],
  ])('behind a hold of %i ms is %s, however young the head is: waiters time out', (heldMs, severity) => {
    const now = view([holder({ heldMs })], [waiter({ waitedMs: 100 })])
    const timedOut = view([holder({ heldMs })], [waiter({ waitedMs: 9900 })])
    const expected = severity === null ? [] : [`${severity} LINE_STUCK`]
    expect(codes(now, earlier(timedOut), context())).toEqual(expected)
    // Of several holders, the one that came last shows when the queue last moved.
    const busy = view([holder({ heldMs }), holder({ label: 'web:3', heldMs: 5000 })], [waiter()])
    expect(codes(busy, earlier(busy), context())).toEqual([])
    const alone = view([holder({ heldMs })])
    expect(codes(alone, earlier(alone), context())).toEqual([])
  })

  it('says whether the holder renewed between the looks', () => {
    const now = view([holder({ expiresInMs: 9000 })], [waiter({ waitedMs: 9000 })])
    const then = (expiresInMs: number) =>
      earlier(view([holder({ expiresInMs })], [waiter({ waitedMs: 9000 })]))
    const evidence = (before: Glimpse) => examineKey(now, before, context())[0]?.evidence
    expect(evidence(then(7000))).toContain('web:1 holds it for 500 ms and renews it, so its process lives')
    expect(evidence(then(10_000))).toContain('holds it for 500 ms, which ends in 9 s unless it is renewed')
  })

  it('of an election is as long as its leader leads', () => {
    const key = 'shop:election:scheduler'
    const now = { ...view([holder({ heldMs: 99_999_999 })], [waiter({ waitedMs: 99_999_998 })]), key }
    expect(codes(now, earlier(now), context())).toEqual([])
    const other = { ...now, key: 'shop:selection:1' }
    expect(codes(other, earlier(other), context())).toEqual(['critical LINE_STUCK'])
  })

  it('moves when the head or the holder is another one', () => {
    const now = view([holder()], [waiter({ waitedMs: 90_000 })])
    const otherHead = view([holder()], [waiter({ waitedMs: 95_000 })])
    expect(codes(now, earlier(otherHead), context())).toEqual([])
    const otherHolder = view([holder({ token: TOKEN - 256n })], [waiter({ waitedMs: 90_000 })])
    expect(codes(now, earlier(otherHolder), context())).toEqual([])
    expect(codes({ ...now, closedForMs: 5 }, earlier(now), context())).toEqual([])
  })

  it('has a dead waiter when one is gone, deaf, or has missed two renewals of its place', () => {
    const dead = ['warning DEAD_WAITER']
    expect(codes(view([holder()], [waiter({ expiresInMs: 2499 })]), undefined, context())).toEqual(dead)
    expect(codes(view([holder()], [waiter({ expiresInMs: 2500 })]), undefined, context())).toEqual([])
    const now = view([holder()], [waiter()])
    const deaf = context({}, { isDeaf: (role) => role === 'waiter' })
    expect(codes(now, undefined, deaf)).toEqual(dead)
    const gone = context({}, { whyGone: (label) => (label === 'web:2' ? 'it ended' : null) })
    expect(codes(now, undefined, gone)).toEqual(dead)
  })
})

describe('a server', () => {
  it('is judged by its warnings and its clock', () => {
    const warning = { kind: 'warning', id: '', key: '', message: 'm' } as const
    const found = examineServer(
      [
        { ...warning, code: 'HOLDFAST_REDIS_EVICTION', fix: 'f' },
        { ...warning, code: 'HOLDFAST_REDIS_VERSION' },
        { kind: 'clock', whose: 'it', aheadMs: -10_001 },
        { kind: 'clock', whose: 'it', aheadMs: 9999 },
        { kind: 'unseen', what: 'x', why: 'y' },
      ],
      [],
    )
    expect(found.map(({ code, severity, fix }) => [severity, code, fix.length > 0])).toEqual([
      ['critical', 'STORE_AT_RISK', true],
      ['warning', 'STORE_AT_RISK', true],
      ['warning', 'CLOCK_OFF', true],
    ])
    expect(found[2]?.evidence).toContain('10 s behind')
  })

  it('many orphans are a number after the first ten', () => {
    const orphan = {
      kind: 'orphan',
      what: 'dead',
      count: 1,
      blocking: false,
      idleMs: 5000,
      proof: '',
    } as const
    const found = examineServer(
      Array.from({ length: 25 }, (_, at) => ({ ...orphan, name: `k${at}` })),
      [],
    )
    expect(found).toHaveLength(10)
    expect(found.at(-1)?.evidence).toBe('k9: dead, for 5 s; and 15 more like these')
  })

  it.each([
    ['lock:*', 'lock:1', true],
    ['lock:*', 'a lock:1', false],
    ['a*c', 'abc', true],
    ['a.c', 'abc', false],
    ['*:lock', 'order\n:lock', true],
  ])('%s matches %j: %s', (pattern, name, expected) => {
    expect(matches(pattern, name)).toBe(expected)
  })
})

describe('words', () => {
  it.each([
    [999, '999 ms', '999ms'],
    [1500, '1.5 s', '1500ms'],
    [119_000, '119 s', '119s'],
    [3_600_000, '60 min', '3600s'],
    [108_000_000, '30 h', '108000s'],
  ])('%i ms is %s, and %s as an argument', (ms, said, given) => {
    expect([span(ms), argument(ms)]).toEqual([said, given])
  })

  it('a word of a shell is quoted only when it must be', () => {
    expect([word('order:42'), word('a b'), word('$(rm)')]).toEqual(['order:42', "'a b'", "'$(rm)'"])
  })

  it.each([
    [{ foreign: ['*'] }, /foreign/],
    [{ foreign: [''] }, /foreign/],
    [{ watch: '11m' }, /watch/],
    [{ usual: 'soon' }, /usual/],
    [{ prefix: 7 as unknown as string }, /prefix/],
  ])('%j is refused', (options, message) => {
    expect(() => doctorSettings(options)).toThrow(message)
  })
})
