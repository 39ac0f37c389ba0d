import fc from 'fast-check'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import { mysql } from '../../../src/stores/sql/mysql/index.ts'
import { postgres } from '../../../src/stores/sql/postgres/index.ts'
import { type Action, plan } from '../sqlite/plan.ts'
import { Story, sceneOf, Unclear } from './story.ts'

const SEED = Date.now() % 2 ** 31
/** One story for every run: the highest token that a view shows differs after some evictions, as with 1891272916. */
const CROWD_SEED = 20
const STORIES = 120
const TOGETHER = 6
const WAITERS = 200

const [postgresServer, mariadbServer] = await Promise.all([startPostgres(), startMariadb()])
const opened: { close(): unknown }[] = []
afterAll(async () => {
  for (const one of opened.reverse()) await one.close()
  await Promise.all([postgresServer.stop(), mariadbServer.stop()])
})

function overPg(): Store {
  const pool = new pg.Pool({ connectionString: postgresServer.url, max: 2 })
  opened.push({ close: () => pool.end() })
  return postgres(pool)
}

function overMysql(): Store {
  const pool = mysql2.createPool({ uri: mariadbServer.url, connectionLimit: 2 })
  opened.push({ close: () => pool.end() })
  return mysql(pool)
}

/** The same plan for one key, where nearly all claims are exclusive and wait; a release is that of a holder. */
function queueOf<T extends { claims: readonly object[] }>(given: T): T {
  const claims = given.claims.map((claim, place) => {
    const mode = { kind: place === 3 ? 'shared' : 'exclusive' }
    return { ...claim, key: 'x', mode, queue: true, owner: place === 4 ? 'o' : null, replaces: null }
  })
  return { ...given, claims }
}

/** A claim that lets go, leaves, renews or asks again; or the operator or time steps in. */
const step = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ kind: 'hand on' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('attempt' as const, 'renew' as const, 'release' as const),
      who: fc.nat({ max: 1 }),
      places: fc.array(fc.nat({ max: WAITERS }), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('evict' as const, 'revoke' as const),
      key: fc.constant(0),
      back: fc.constantFrom(null, 0, 1),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'pass' as const, ms: 0, skewMs: 0 }) },
)

const tenFrom = (first: number) => Array.from({ length: 10 }, (_, more) => first + more)

const crowd = fc.record({
  claims: fc.array(
    fc.record({
      key: fc.constant('x'),
      mode: fc.constantFrom({ kind: 'exclusive' }, { kind: 'exclusive' }, { kind: 'shared' } as const),
      ttlMs: fc.nat({ max: 20 }).map((short) => (short === 0 ? 100 : 5000)),
      owner: fc.nat({ max: 8 }).map((named) => (named === 0 ? 'o' : null)),
      lockDelayMs: fc.constant(0),
      replaces: fc.constant(null),
    }),
    { minLength: WAITERS + 1, maxLength: WAITERS + 1 },
  ),
  steps: fc.array(step, { minLength: 120, maxLength: 120 }),
})

describe.each([
  ['PostgreSQL', overPg, true],
  ['MariaDB', overMysql, false],
])('%s does what the model does', async (name, open, tells) => {
  const stores = [open(), open()]
  const told: StoreNotice[][] = [[], []]
  for (const [who, store] of stores.entries()) {
    opened.push(store)
    store.notices((notice) => told[who]?.push(notice))
    await store.admin.read('')
  }

  /** False when time got in the way. */
  const tell = async (story: Story, actions: () => AsyncIterable<unknown> | Iterable<unknown>) => {
    let clear = true
    try {
      for await (const _ of actions());
    } catch (error) {
      if (!(error instanceof Unclear)) throw error
      clear = false
    }
    if (clear && tells) await story.compareGrants(told)
    story.verify()
    return clear
  }

  it(`in ${STORIES} stories of a few claims, by seed ${SEED}`, async () => {
    const plans = fc.sample(plan, { numRuns: STORIES, seed: SEED })
    let [compared, clear] = [0, 0]
    const run = async (lane: number) => {
      for (let place = lane; place < plans.length; place += TOGETHER) {
        const one = place % 2 === 0 ? plans[place]! : queueOf(plans[place]!)
        const prefix = `${name} ${place} "$k$" \\ ü:`
        const story = new Story(stores, prefix, sceneOf(prefix, one))
        const done = await tell(story, async function* () {
          for (const action of one.actions) {
            const places = story.heldBy(`${prefix}x`)
            const isHandoff = place % 2 === 1 && action.kind === 'release' && places.length > 0
            yield await story.play(isHandoff ? { ...action, places: places.slice(0, 1) } : action)
          }
        })
        compared += story.compared
        clear += Number(done)
      }
    }
    await Promise.all(Array.from({ length: TOGETHER }, (_, lane) => run(lane)))
    console.log(`${name}: compared ${compared}, ${clear} of ${STORIES} stories to their end`)
    expect(compared).toBeGreaterThan(STORIES * 10)
  }, 180_000)

  it(`with ${WAITERS} waiters on one key, by seed ${CROWD_SEED}`, async () => {
    const [one] = fc.sample(crowd, { numRuns: 1, seed: CROWD_SEED })
    let [compared, done] = [0, false]
    for (let tries = 0; tries < 5 && !done; tries++) {
      const prefix = `${name} crowd ${tries}:`
      const story = new Story(stores, prefix, sceneOf(prefix, one!))
      done = await tell(story, async function* () {
        const join = (places: number[], who: number) => story.play({ kind: 'attempt', who, places })
        for (let place = 0; place <= WAITERS / 2; place++) yield await join([place], place % 2)
        for (let first = WAITERS / 2 + 1; first <= WAITERS; first += 10) yield await join(tenFrom(first), 0)
        for (const [number, action] of one!.steps.entries()) {
          const places = action.kind === 'hand on' ? story.heldBy(`${prefix}x`) : []
          if (action.kind !== 'hand on') yield await story.play(action as Action)
          else if (places.length > 0) yield await story.play({ kind: 'release', who: number % 2, places })
        }
      })
      compared += story.compared
    }
    console.log(`${name}: compared ${compared} with a crowd, ${done ? 'to the end' : 'not to the end'}`)
    expect(compared).toBeGreaterThan(WAITERS)
  }, 180_000)
})
