import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import * as model from '../../../src/model/index.ts'
import {
  type Claim,
  type Clock,
  claimBatch,
  EMPTY,
  type KeyState,
  stepBatch,
} from '../../../src/model/index.ts'
import { RULES as REAL_RULES } from '../../../src/stores/redis/rules.ts'
import { SCRIPTS } from '../../../src/stores/redis/scripts.generated.ts'
import { claimOf, exclusive, permits, plan, shared } from '../../model/arbitraries.ts'
import { explore, type Sight } from '../../model/explore.ts'
import { CROWD_KINDS, crowdActions, crowdOf, placesOf } from '../crowd-story.ts'
import { alike, ordered } from './alike.ts'
import { addressed, type Effect, type Happening, happeningOf, keptOf, RULES, Twin } from './twin.ts'

const SLOW_MS = 120_000
/** Events of the two comparisons together; FC_SEED repeats a failure. */
const PLANS = 750
const STORIES = 300
const MOMENTS_PER_STORY = 30
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

it('does with every event what the model does', { timeout: SLOW_MS }, async () => {
  let events = 0
  for (const [number, value] of fc.sample(plan, { seed, numRuns: PLANS }).entries()) {
    const key = `plan ${number}`
    const sights: Sight[] = []
    explore(model, value, (sight) => sights.push(sight), { rules: RULES })
    const moments = sights.map(({ event, clock }) => ({ happening: happeningOf(key, event), clock }))
    const effects = await twin.play(moments, [key])
    for (const [place, sight] of sights.entries()) {
      const expected = ordered({
        answers: [sight.answer],
        notifications: sight.notifications.map((notification) => addressed({ ...notification, key })),
        states: [inKey(key, keptOf(sight.state, sight.clock.nowMs))],
      })
      const found = alike(foundIn(effects[place], sight.clock), expected, sight.clock.nowMs)
      // The assertion alone would take most of the time.
      if (isDeepStrictEqual(found, expected)) continue
      expect(found, `seed ${seed}, plan ${number}, event ${place}: ${show(sight.event)}`).toEqual(expected)
    }
    events += sights.length
  }
  expect(events).toBeGreaterThan(12_000)
})

it.each(['mixed', 'busy'] as const)(
  'does with every batch what the model does: %s stories',
  { timeout: SLOW_MS },
  async (kind) => {
    let claims = 0
    for (const [number, story] of fc.sample(stories[kind], { seed, numRuns: STORIES }).entries()) {
      const keys = ['a', 'b', 'c'].map((name) => `${kind} story ${number} {${name}}`)
      const moments = momentsOf(story, keys)
      const effects = await twin.play(moments, keys)
      const shelf = new Map<string, KeyState>()
      for (const [place, { happening, clock }] of moments.entries()) {
        const { answers, notifications } = byModel(shelf, happening, clock)
        const states = keys.map((key) => keptOf(shelf.get(key), clock.nowMs))
        const expected = ordered({ answers, notifications: notifications.map(addressed), states })
        const found = alike(foundIn(effects[place], clock), expected, clock.nowMs, groupedIn(happening))
        claims += 'claims' in happening ? happening.claims.length : 1
        if (isDeepStrictEqual(found, expected)) continue
        expect(found, `seed ${seed}, story ${number}, moment ${place}: ${show(happening)}`).toEqual(expected)
      }
    }
    expect(claims).toBeGreaterThan(8_000)
  },
)

it.each(CROWD_KINDS)(
  'does with a crowd of 200 waiters what the model does: %s',
  async (kind) => {
    const key = `crowd of ${kind}`
    const claims = crowdOf(kind, 100, 2400).map((wish, place) => ({
      ...claimOf(`claim ${place}`, wish),
      key,
    }))
    const shelf = new Map<string, KeyState>()
    const moments: { happening: Happening; clock: Clock; expected: Effect }[] = []
    let nowMs = 5000
    const happen = (happening: Happening, waitMs = 1) => {
      nowMs += waitMs
      const clock = { nowMs, stampUs: 1_700_000_000_000_000 + nowMs * 1000 + moments.length }
      const { answers, notifications } = byModel(shelf, happening, clock)
      const states = [keptOf(shelf.get(key), nowMs)]
      const expected = ordered({ answers, notifications: notifications.map(addressed), states }) as Effect
      moments.push({ happening, clock, expected })
    }
    const heldBy = () => placesOf(shelf.get(key)?.holds ?? [], 'claim ')
    for (const action of crowdActions(seed, RULES.offerMs, heldBy)) {
      if (action.kind === 'pass') happen({ kind: 'tick', key }, action.ms)
      else if ('back' in action) happen({ kind: action.kind, key, token: null })
      else {
        const some = action.places.map((place) => claims[place] as Claim)
        if (action.kind === 'attempt') happen({ kind: 'claim', claims: some, inbox: `inbox ${action.who}` })
        // One by one, because the model counts offers for each event, and Redis for each call.
        else for (const claim of some) happen({ kind: action.kind, claims: [claim] }, 0)
      }
    }
    const story = moments.length
    // The remaining claims die together: the model drops them in one step, Redis a portion in each.
    for (let look = 0; look < 6; look++) happen({ kind: 'tick', key }, look === 0 ? 2400 : 0)
    const effects = await twin.play(moments, [key])
    for (const [place, { happening, clock, expected }] of moments.entries()) {
      if (place >= story && place < moments.length - 1) continue
      const found = alike(foundIn(effects[place], clock), expected, clock.nowMs)
      if (isDeepStrictEqual(found, expected)) continue
      expect(found, `seed ${seed}, moment ${place}: ${show(happening)}`).toEqual(expected)
    }
    expect(Math.max(...effects.map(({ states }) => states[0]?.queue.length ?? 0))).toBeGreaterThanOrEqual(195)
  },
  SLOW_MS,
)

it('stands on the same numbers as the scripts that users run', () => {
  for (const { source } of Object.values(SCRIPTS)) {
    if (source.includes('KEEP')) expect(source).toContain(`local KEEP = ${REAL_RULES.keepSeqMs}\n`)
    if (source.includes('OFFERS'))
      expect(source).toContain(
        `local DEAD, OFFERS, TOLD = ${REAL_RULES.mostOffers}, ${REAL_RULES.mostOffers}, ${model.MOST_TOLD_OF_CONTENTION}\n`,
      )
    if (source.includes('local OFFER ')) expect(source).toContain(`local OFFER = ${REAL_RULES.offerMs}\n`)
  }
})

/** A moment of a story: what is done to how many of which claims. Claims of one group stand together. */
interface Moment {
  readonly waitMs: number
  readonly kind: 'claim' | 'claim' | 'renew' | 'release'
  readonly parts: readonly { readonly who: number; readonly grouped: boolean }[]
}

interface Story {
  readonly bodies: readonly { readonly key: number; readonly claim: Claim }[]
  readonly moments: readonly Moment[]
}

type Body = Omit<Claim, 'id' | 'key' | 'actor' | 'label' | 'group' | 'replaces'>

const mixed: fc.Arbitrary<Body> = fc.record({
  mode: fc.constantFrom(exclusive, exclusive, shared, permits(3, 1), permits(3, 2)),
  ttlMs: fc.constantFrom(5, 20, 100),
  queue: fc.boolean(),
  owner: fc.constantFrom(null, null, null, 'x'),
  lockDelayMs: fc.constantFrom(0, 0, 10),
  meta: fc.constantFrom(null, '{"größe":"1 \u2028"}'),
})

/** Mostly exclusive claims without owners, for the fast paths. */
const plain: fc.Arbitrary<Body> = fc.record({
  mode: fc.constant(exclusive),
  ttlMs: fc.constantFrom(5, 20, 100),
  queue: fc.constantFrom(true, true, true, true, false),
  owner: fc.constant(null),
  lockDelayMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 10),
  meta: fc.constantFrom(null, '{"größe":"1 \u2028"}'),
})

const stories = {
  mixed: storiesOf(mixed, 2, ['claim', 'claim', 'renew', 'release']),
  busy: storiesOf(plain, 0, ['claim', 'claim', 'claim', 'claim', 'claim', 'renew', 'release']),
}

function storiesOf(
  body: fc.Arbitrary<Body>,
  lastKey: number,
  kinds: readonly Moment['kind'][],
): fc.Arbitrary<Story> {
  const keyed = fc.record({ key: fc.integer({ min: 0, max: lastKey }), claim: body })
  const part = fc.record({
    who: fc.integer({ min: 0, max: 8 }),
    grouped: lastKey === 0 ? fc.constant(false) : fc.boolean(),
  })
  return fc.record({
    bodies: fc
      .array(keyed, { minLength: 9, maxLength: 9 })
      .map((all) =>
        all.map(({ key, claim }, index) => ({ key, claim: claimOf(`claim ${index}`, { ...claim }) })),
      ),
    moments: fc.array(
      fc.record({
        waitMs: fc.constantFrom(0, 0, 1, 3, 12),
        kind: fc.constantFrom(...kinds),
        parts: fc.array(part, { minLength: 1, maxLength: lastKey === 0 ? 1 : 6 }),
      }),
      { minLength: MOMENTS_PER_STORY, maxLength: MOMENTS_PER_STORY },
    ),
  })
}

function momentsOf({ bodies, moments }: Story, keys: readonly string[]) {
  let nowMs = 5000
  return moments.map(({ waitMs, kind, parts }, place): { happening: Happening; clock: Clock } => {
    nowMs += waitMs
    const clock = { nowMs, stampUs: 1_700_000_000_000_000 + nowMs * 1000 + place }
    const claims = parts.map(({ who, grouped }) => {
      const { key, claim } = bodies[who] as Story['bodies'][number]
      const group = kind === 'claim' && grouped ? 'together' : null
      return { ...claim, key: keys[key] as string, group }
    })
    const happening: Happening =
      kind === 'claim' ? { kind, claims, inbox: `inbox ${place % 2}` } : { kind, claims }
    return { happening, clock }
  })
}

function byModel(states: Map<string, KeyState>, happening: Happening, clock: Clock) {
  const shelf = {
    get: (key: string) => states.get(key) ?? EMPTY,
    put: (key: string, state: KeyState) => void states.set(key, state),
  }
  if (happening.kind === 'claim') {
    // Time is counted for the keys of a group first, and stays counted when the group is given up.
    const grouped = new Set(happening.claims.filter(({ group }) => group !== null).map(({ key }) => key))
    const notifications: model.KeyNotification[] = []
    for (const key of grouped) {
      const ticked = model.step(shelf.get(key), { kind: 'tick' }, clock, RULES)
      shelf.put(key, ticked.state)
      for (const each of ticked.notifications) notifications.push({ ...each, key })
    }
    const batch = claimBatch(shelf, happening.claims, happening.inbox, clock, RULES)
    return { answers: batch.answers, notifications: [...notifications, ...batch.notifications] }
  }
  if (happening.kind === 'renew') return stepBatch(shelf, happening.claims, model.renewOf, clock, RULES)
  if ('claims' in happening) return stepBatch(shelf, happening.claims, model.releaseOf, clock, RULES)
  const { key, ...event } = happening
  const { answer, state, notifications } = model.step<model.Event>(shelf.get(key), event, clock, RULES)
  shelf.put(key, state)
  return { answers: [answer], notifications: notifications.map((each) => ({ ...each, key })) }
}

function groupedIn(happening: Happening): readonly Claim[] {
  return happening.kind === 'claim' ? happening.claims.filter(({ group }) => group !== null) : []
}

function foundIn(effect: Effect | undefined, { nowMs }: Clock): Effect {
  const { answers, notifications, states } = effect as Effect
  return { answers, notifications, states: states.map((state) => keptOf(state, nowMs)) }
}

/** The plans of the model are about a key of another name. */
function inKey(key: string, state: KeyState): KeyState {
  return { ...state, queue: state.queue.map((waiter) => ({ ...waiter, claim: { ...waiter.claim, key } })) }
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
}
