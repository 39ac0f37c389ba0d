import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { type Claim, type Clock, MOST_TOLD_OF_CONTENTION } from '../../../src/model/index.ts'
import {
  AHEAD_US,
  CALL_MS,
  KEEP_SEQ_MS,
  LOCK_CAPACITY,
  MOST_PER_STEP,
  type NodeState,
} from '../../../src/stores/quorum/node-model/state.ts'
import { EVERY_BALLOT, type Question } from '../../../src/stores/quorum/protocol.ts'
import { SCRIPTS } from '../../../src/stores/quorum/scripts.generated.ts'
import { claimOf, exclusive, permits, shared } from '../../model/arbitraries.ts'
import { CROWD_KINDS, crowdActions, crowdOf, placesOf } from '../crowd-story.ts'
import { kept, meant } from './meant.ts'
import { type Effect, type Happening, Twin } from './twin.ts'

/** FC_SEED repeats a failure. */
const STORIES = 700
const MOMENTS_PER_STORY = 30
/** Between two moments of a crowd: a call is void after eight of them. */
const MOMENT_MS = CALL_MS / 8
const seed = Number(process.env.FC_SEED ?? (Math.random() * 2 ** 31) | 0)

let server: RedisServer
let redis: Redis
let twin: Twin

beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.port)
  twin = new Twin(redis)
  await twin.load()
})

afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

it('a node does with every question what is meant', async () => {
  const kinds = new Map<string, number>()
  for (const [number, story] of fc.sample(stories, { seed, numRuns: STORIES }).entries()) {
    const keys = [`story ${number} a`, `story ${number} b`]
    const moments = momentsOf(story, keys)
    const effects = await twin.play(moments, keys)
    const states = new Map<string, NodeState>()
    for (const [place, { happening, clock }] of moments.entries()) {
      const expected = {
        ...meant(states, happening, clock),
        states: keys.map((key) => kept(states.get(key), clock)),
      }
      const { votes, notifications, states: raw } = effects[place] as Effect
      const found = { votes, notifications, states: raw.map((state) => kept(state, clock)) }
      for (const { kind } of votes) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      // The assertion alone would take most of the time.
      if (isDeepStrictEqual(found, expected)) continue
      expect(found, `seed ${seed}, story ${number}, moment ${place}: ${JSON.stringify(happening)}`).toEqual(
        expected,
      )
    }
  }
  // A comparison that never sees one of the answers proves nothing about it.
  for (const kind of [
    'granted',
    'blocked',
    'refused',
    'ahead',
    'renewed',
    'waiting',
    'lost',
    'released',
    'absent',
  ])
    expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(50)
}, 120_000)

it.each(CROWD_KINDS)(
  'a node does with a crowd of 200 waiters what is meant: %s',
  async (kind) => {
    const key = `crowd of ${kind}`
    const claims = crowdOf(kind, 100 * MOMENT_MS, 2400 * MOMENT_MS).map((wish, place) => ({
      ...claimOf(`claim ${place}`, wish),
      key,
    }))
    const tickets = new Map<string, number>()
    const states = new Map<string, NodeState>()
    const moments: { happening: Happening; clock: Clock; expected: Effect }[] = []
    let nowMs = 5000
    const stampUs = () => 1_700_000_000_000_000 + nowMs * 1000 + moments.length
    const happen = (happening: Happening, waitMs = MOMENT_MS) => {
      nowMs += waitMs
      const clock = { nowMs, stampUs: stampUs() }
      const expected = { ...meant(states, happening, clock), states: [kept(states.get(key), clock)] }
      moments.push({ happening, clock, expected })
    }
    const ask = (some: readonly Claim[], kind: 'attempt' | 'renew' | 'release', who: number) => {
      const questions = some.map((claim): Question => {
        if (kind === 'renew') return { kind, claim, seq: 0 }
        if (kind === 'release') return { kind, claim, ballot: EVERY_BALLOT }
        const ballot = stampUs()
        tickets.set(claim.id, tickets.get(claim.id) ?? ballot)
        return {
          kind: 'claim',
          claim,
          inbox: `inbox ${who}`,
          ballot,
          ticket: tickets.get(claim.id) as number,
        }
      })
      happen({ kind: 'ask', questions })
    }
    const heldBy = () => placesOf(states.get(key)?.holds ?? [], 'claim ')
    for (const action of crowdActions(seed, CALL_MS, heldBy)) {
      if (action.kind === 'pass') happen({ kind: 'evict', key, ids: [], ask: true }, action.ms)
      else if ('back' in action) {
        const ids = heldBy().map((place) => `claim ${place}`)
        happen({ kind: 'evict', key, ids, ask: action.kind === 'revoke' })
      } else {
        const some = action.places.map((place) => claims[place] as Claim)
        ask(some, action.kind, action.who)
        const called = states.get(key)?.queue.filter((waiter) => waiter.called) ?? []
        const coming = called.map(({ claim }) => claim)
        if (action.kind === 'release' && coming.length > 0) ask(coming, 'attempt', action.who)
      }
    }
    const effects = await twin.play(moments, [key])
    for (const [place, { happening, clock, expected }] of moments.entries()) {
      const { votes, notifications, states: raw } = effects[place] as Effect
      const found = { votes, notifications, states: raw.map((state) => kept(state, clock)) }
      if (isDeepStrictEqual(found, expected)) continue
      expect(found, `seed ${seed}, moment ${place}: ${JSON.stringify(happening)}`).toEqual(expected)
    }
    expect(Math.max(...effects.map(({ states }) => states[0]?.queue.length ?? 0))).toBeGreaterThanOrEqual(195)
  },
  120_000,
)

it('stands on the same numbers as the scripts', () => {
  expect(AHEAD_US).toBe(KEEP_SEQ_MS * 1000)
  for (const { source } of Object.values(SCRIPTS)) expect(source).toContain(`local KEEP = ${KEEP_SEQ_MS}\n`)
  for (const { source } of [SCRIPTS.ask, SCRIPTS.evict]) expect(source).toContain(`local CALL = ${CALL_MS}\n`)
  for (const { source } of [SCRIPTS.ask, SCRIPTS.evict]) {
    expect(source).toContain(`local LOCK = ${LOCK_CAPACITY}\n`)
    expect(source).toContain(`local MOST = ${MOST_PER_STEP}\n`)
    expect(source).toContain(`0, ${MOST_TOLD_OF_CONTENTION - 1})`)
  }
  expect(SCRIPTS.ask.source).toContain(`'${EVERY_BALLOT}'`)
})

type Part =
  | { readonly kind: 'claim'; readonly who: number; readonly ballot: number; readonly downgrade: boolean }
  | { readonly kind: 'join'; readonly who: number }
  | { readonly kind: 'renew' | 'raise'; readonly who: number; readonly seq: number }
  | { readonly kind: 'release'; readonly who: number; readonly back: number }

interface Moment {
  readonly waitMs: number
  readonly what: readonly Part[] | { readonly evicted: readonly number[]; readonly ask: boolean }
}

interface Story {
  readonly bodies: readonly { readonly key: number; readonly claim: Claim }[]
  readonly moments: readonly Moment[]
}

const body = fc.record({
  key: fc.integer({ min: 0, max: 1 }),
  mode: fc.constantFrom(exclusive, exclusive, shared, shared, permits(3, 1), permits(3, 2), permits(3, 4)),
  ttlMs: fc.constantFrom(20, 400, 3000),
  queue: fc.boolean(),
  owner: fc.constantFrom(null, null, null, 'x'),
  lockDelayMs: fc.constantFrom(0, 0, 0, 200),
  meta: fc.constantFrom(null, '{"größe":"1 \u2028"}'),
})

const who = fc.integer({ min: 0, max: 6 })
/** Ballots follow the clock, fall behind it, run ahead of it too far, or propose nothing. */
const ballot = fc.constantFrom(0, 0, 0, 0, -500, 700, 2_000_000, AHEAD_US * 2, Number.NaN)
const part: fc.Arbitrary<Part> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), who, ballot, downgrade: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('renew' as const, 'renew' as const, 'raise' as const),
      who,
      seq: fc.constantFrom(0, 0, -3, 5, 900),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('join' as const), who }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('release' as const), who, back: fc.constantFrom(0, 0, 1, 2) }),
  },
)

const stories: fc.Arbitrary<Story> = fc.record({
  bodies: fc
    .array(body, { minLength: 7, maxLength: 7 })
    .map((all) =>
      all.map(({ key, ...fields }, index) => ({ key, claim: claimOf(`claim ${index}`, fields) })),
    ),
  moments: fc.array(
    fc.record({
      waitMs: fc.constantFrom(0, 0, 1, 3, 30, 150, 1100),
      what: fc.oneof(
        { weight: 15, arbitrary: fc.array(part, { minLength: 1, maxLength: 5 }) },
        { weight: 1, arbitrary: fc.record({ evicted: fc.array(who, { maxLength: 3 }), ask: fc.boolean() }) },
      ),
    }),
    { minLength: MOMENTS_PER_STORY, maxLength: MOMENTS_PER_STORY },
  ),
})

function momentsOf({ bodies, moments }: Story, keys: readonly string[]) {
  let nowMs = 5000
  const ballots = bodies.map((): number[] => [])
  return moments.map(({ waitMs, what }, place): { happening: Happening; clock: Clock } => {
    nowMs += waitMs
    const clock = { nowMs, stampUs: 1_700_000_000_000_000 + nowMs * 1000 + place }
    const claimOfPart = (index: number): Claim => {
      const { key, claim } = bodies[index] as Story['bodies'][number]
      return { ...claim, key: keys[key] as string }
    }
    if ('evicted' in what)
      return {
        happening: {
          kind: 'evict',
          key: keys[0] as string,
          ids: what.evicted.map((of) => `claim ${of}`),
          ask: what.ask,
        },
        clock,
      }
    const questions = what.map((each): Question => {
      const claim = claimOfPart(each.who)
      const earlier = ballots[each.who] as number[]
      if (each.kind === 'claim') {
        const number = Number.isNaN(each.ballot) ? place : clock.stampUs + each.ballot
        const ticket = earlier[0] ?? number
        earlier.push(number)
        const wanted = each.downgrade && claim.mode.kind === 'exclusive' && each.who % 3 === 0
        const asked = wanted ? { ...claim, mode: shared, replaces: claim.id } : claim
        return { kind: 'claim', claim: asked, inbox: `inbox ${each.who % 2}`, ballot: number, ticket }
      }
      if (each.kind === 'join') {
        const [ticket = clock.stampUs] = earlier
        return { kind: 'join', claim: { ...claim, queue: true }, inbox: `inbox ${each.who % 2}`, ticket }
      }
      if ('seq' in each) {
        const seq = each.kind === 'renew' && each.seq === 0 ? 0 : clock.stampUs + each.seq
        return { kind: each.kind, claim, seq }
      }
      return {
        kind: 'release',
        claim,
        ballot: each.back === 0 ? EVERY_BALLOT : (earlier.at(-each.back) ?? 0),
      }
    })
    return { happening: { kind: 'ask', questions }, clock }
  })
}
