import fc from 'fast-check'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import { mysql } from '../../../src/stores/sql-server/mysql/index.ts'
import { postgres } from '../../../src/stores/sql-server/postgres/index.ts'
import { crowdActions, crowdOf, WAITERS } from '../crowd-story.ts'
import { plan } from '../sqlite/plan.ts'
import { LONG_MS, SHORT_MS, Story, sceneOf, Unclear } from './story.ts'

const SEED = Date.now() % 2 ** 31
const STORIES = 120
const TOGETHER = 6

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

  it.each(['mixed', 'permits'] as const)(
    `with ${WAITERS} waiters on one key, by seed ${SEED}: %s`,
    async (kind) => {
      const claims = crowdOf(kind, SHORT_MS, LONG_MS).map((claim) => ({ ...claim, key: 'x', replaces: null }))
      let [compared, done] = [0, false]
      for (let tries = 0; tries < 5 && !done; tries++) {
        const prefix = `${name} crowd of ${kind} ${tries}:`
        const story = new Story(stores, prefix, sceneOf(prefix, { claims }))
        done = await tell(story, async function* () {
          for (const action of crowdActions(SEED, 0, () => story.heldBy(`${prefix}x`)))
            yield await story.play(action)
        })
        compared += story.compared
      }
      console.log(`${name}: compared ${compared} with a crowd of ${kind}, ${done ? '' : 'not '}to the end`)
      expect(compared).toBeGreaterThan(WAITERS)
    },
    180_000,
  )
})
