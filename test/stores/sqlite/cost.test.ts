import { expect, test } from 'vitest'
import type { Claim } from '../../../src/model/index.ts'
import {
  type Binding,
  loadBinding,
  type SqliteStatement,
  type SqlValue,
} from '../../../src/stores/sqlite/binding.ts'
import { claimOf } from './claims.ts'
import { letGo, Machine, take } from './world.ts'

/** A binding that notes every statement that runs. */
function noting(): { readonly binding: Binding; readonly ran: string[] } {
  const { DatabaseSync } = loadBinding()
  const ran: string[] = []
  class Noting extends DatabaseSync {
    override prepare(sql: string): SqliteStatement {
      const statement = super.prepare(sql)
      const noted =
        <T>(call: (...parameters: readonly SqlValue[]) => T) =>
        (...parameters: readonly SqlValue[]): T => {
          ran.push(sql)
          return call.apply(statement, parameters as SqlValue[])
        }
      return { run: noted(statement.run), get: noted(statement.get), all: noted(statement.all) }
    }
  }
  return { binding: { DatabaseSync: Noting }, ran }
}

// The clean-up after every so many keys is beside the point.
const ofSteps = (ran: readonly string[]) => ran.filter((sql) => !sql.includes('forget_at <= ?2'))

test.each([10, 1000])('a step on a key with %i waiters runs the same few statements', async (waiters) => {
  const { binding, ran } = noting()
  const store = new Machine().open({ binding })
  const claims = Array.from({ length: waiters + 1 }, () => claimOf('k', { ttlMs: 3_600_000 }))
  await store.attempt(claims)
  const costOf = async (work: () => unknown): Promise<readonly string[]> => {
    ran.length = 0
    await work()
    return ofSteps(ran)
  }
  // The row, the ends, the head, which may be of a process that ended, the waiter, its new end, its position, in one transaction.
  const renewal = await costOf(() => store.renew(claims.slice(-1)))
  expect(renewal.length).toBeLessThanOrEqual(8)
  const joining = await costOf(() => store.attempt([claimOf('k')]))
  expect(joining.length).toBeLessThanOrEqual(10)
  const release = await costOf(() => letGo(store, claims[0] as Claim))
  expect(release.length).toBeLessThanOrEqual(8)
  // SQLite plans a statement anew whenever a limit or a state is bound to it.
  const all = [...renewal, ...joining, ...release]
  expect(all.filter((sql) => /LIMIT \?|state = \?/.test(sql))).toEqual([])
})

test('a batch of renewals is one transaction', async () => {
  const { binding, ran } = noting()
  const store = new Machine().open({ binding })
  const claims = Array.from({ length: 50 }, () => claimOf('k'))
  await store.attempt(claims)
  ran.length = 0
  const answers = await store.renew(claims)
  expect(answers.map(({ kind }) => kind)).toEqual(['renewed', ...Array(49).fill('waiting')])
  expect(ran.filter((sql) => sql === 'COMMIT')).toHaveLength(1)
})

test('a joining waiter does not rewrite the holder in the row', async () => {
  const machine = new Machine()
  const store = machine.open()
  await take(store, claimOf('k', { label: 'holder', meta: '{"a":1}' }))
  const row = () =>
    machine.database().prepare('SELECT holder, label, meta, since, expires_at FROM holdfast_locks').get()
  const before = row()
  await store.attempt([claimOf('k', { label: 'waiter' })])
  expect(row()).toEqual(before)
})
