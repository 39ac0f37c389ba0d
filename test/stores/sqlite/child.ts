// A process of its own, for tests that need more than one. `node --import tsx child.ts ROLE PATH KEY`
import {
  type Binding,
  loadBinding,
  type SqliteStatement,
  type SqlValue,
} from '../../../src/stores/sqlite/binding.ts'
import { openSqlite } from '../../../src/stores/sqlite/open.ts'
import { claimOf } from './claims.ts'

const [role = '', path = '', key = ''] = process.argv.slice(2)

const say = (what: unknown) => process.stdout.write(`${JSON.stringify(what)}\n`)
const stayAlive = () => setInterval(() => {}, 60_000)

/** Stops for ever, in the middle of everything, until it is killed. */
function freeze(where: string): void {
  say(where)
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

/** A binding that stops before or after its `count`th commit. */
function freezing(when: 'before' | 'after', count: number): Binding {
  const { DatabaseSync } = loadBinding()
  let commits = 0
  class Freezing extends DatabaseSync {
    override prepare(sql: string): SqliteStatement {
      const statement = super.prepare(sql)
      if (sql !== 'COMMIT') return statement
      const run = (...parameters: readonly SqlValue[]) => {
        commits++
        if (when === 'before' && commits === count) freeze('before commit')
        const result = statement.run(...parameters)
        if (commits === count) freeze('after commit')
        return result
      }
      return { run, get: statement.get.bind(statement), all: statement.all.bind(statement) }
    }
  }
  return { DatabaseSync: Freezing }
}

const roles: Record<string, () => unknown> = {
  /** Waits in the queue and never looks again by itself: only a push can tell it anything. */
  async wait() {
    const store = openSqlite({ path })
    store.notices((notice) => {
      say({ ...notice, token: 'token' in notice ? String(notice.token) : null })
    })
    const claim = claimOf(key, { ttlMs: 60_000 })
    const [answer] = await store.attempt([claim])
    say({ kind: answer?.kind, id: claim.id })
    stayAlive()
  },

  /** Claims two keys in one transaction and is stopped in the middle of it. */
  async 'freeze before commit'() {
    const store = openSqlite({ path }, { binding: freezing('before', 1) })
    await store.attempt([claimOf(`${key}:1`, { ttlMs: 60_000 }), claimOf(`${key}:2`, { ttlMs: 60_000 })])
  },

  async 'freeze after commit'() {
    const store = openSqlite({ path }, { binding: freezing('after', 1) })
    await store.attempt([claimOf(`${key}:1`, { ttlMs: 2500 }), claimOf(`${key}:2`, { ttlMs: 2500 })])
  },

  /** Takes and gives back keys as fast as it can, alone and in groups. */
  async spin() {
    const store = openSqlite({ path })
    store.notices(() => {})
    say('spinning')
    for (let turn = 0; ; turn++) {
      const group = turn % 3 === 0 ? `group ${turn}` : null
      const claims = [0, 1].map((n) =>
        claimOf(`${key}:${(turn + n) % 5}`, { group, ttlMs: 300, queue: turn % 2 === 0 }),
      )
      await store.attempt(claims)
      await store.release(claims)
      if (turn % 50 === 0) await new Promise(setImmediate)
    }
  },

  /** Opens and closes the file again and again, as one who comes and goes. */
  async 'come and go'() {
    for (let turn = 0; turn < 200; turn++) {
      const store = openSqlite({ path })
      const claim = claimOf(key)
      await store.attempt([claim])
      await store.release([claim])
      await store.close()
    }
    say('done')
  },

  /** Opens, holds and waits, and has nothing else to do. */
  async idle() {
    const store = openSqlite({ path })
    store.notices(() => {})
    await store.attempt([claimOf(key, { ttlMs: 60_000 })])
    await store.attempt([claimOf(key, { ttlMs: 60_000 })])
    say('done')
  },

  /** Opens the file at the same moment as others. */
  async open() {
    const store = openSqlite({ path })
    const claim = claimOf(key)
    const [answer] = await store.attempt([claim])
    await store.release([claim])
    await store.close()
    say(answer?.kind)
  },

  /** Says why it cannot open. */
  refusal() {
    try {
      openSqlite({ path })
      say('opened')
    } catch (error) {
      say(error instanceof Error ? `${error.name}: ${error.message}` : error)
    }
  },
}

await roles[role]?.()
