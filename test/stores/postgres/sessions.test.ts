import pg from 'pg'
import postgresJs from 'postgres'
import { expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { ConnectionLender } from '../../../src/stores/sql-server/connection-lender.ts'
import type {
  PostgresSession,
  SessionEvents,
} from '../../../src/stores/sql-server/postgres/clients/client.ts'
import { openSession } from '../../../src/stores/sql-server/postgres/clients/postgres-session.ts'
import { PostgresSessionPool } from '../../../src/stores/sql-server/postgres/clients/session-pool.ts'
import { StatementTimeout } from '../../../src/stores/sql-server/statement-timeout.ts'

/** Sessions that are opened when the test says so. */
class Doors {
  readonly opened: { readonly events: SessionEvents; readonly session: PostgresSession }[] = []
  private readonly waiting: (() => void)[] = []

  readonly open = async (events: SessionEvents): Promise<PostgresSession> => {
    await new Promise<void>((resolve) => this.waiting.push(resolve))
    const session: PostgresSession = { pid: null, query: async () => [], close: async () => {} }
    this.opened.push({ events, session })
    return session
  }

  get asked(): number {
    return this.waiting.length
  }

  async let(): Promise<void> {
    this.waiting.shift()?.()
    await turn()
  }
}

function lendingOf(open: Doors['open']): ConnectionLender<PostgresSession> {
  return new ConnectionLender(new PostgresSessionPool(open, 1), new StatementTimeout(nodeRuntime))
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

it('opens no more sessions than allowed, even while a broken one is replaced', async () => {
  const doors = new Doors()
  const sessions = lendingOf(doors.open)
  let finish = (): void => {}
  const first = sessions.run(() => new Promise<void>((resolve) => (finish = resolve)))
  await doors.let()
  const second = sessions.run(async () => 'second')
  await turn()
  doors.opened[0]?.events.lost()
  const third = sessions.run(async () => 'third')
  finish()
  await first
  await turn()
  expect(doors.asked).toBe(1)
  await doors.let()
  expect(await Promise.all([second, third])).toEqual(['second', 'third'])
  expect(doors.opened).toHaveLength(2)
})

it('does not keep a session that broke while it was being opened', async () => {
  const doors = new Doors()
  const sessions = lendingOf(async (events) => {
    const session = await doors.open(events)
    if (doors.opened.length === 1) events.lost()
    return session
  })
  const used: PostgresSession[] = []
  const use = () => sessions.run(async (session) => void used.push(session))
  const both = [use(), use()]
  await doors.let()
  await doors.let()
  await Promise.all(both)
  expect(used).toEqual(doors.opened.map(({ session }) => session))
  expect(used).toHaveLength(2)
})

it('leaves no connection of the library behind, although the library has unsent data', async () => {
  const server = await startPostgres()
  const operator = new pg.Pool({ connectionString: server.url, max: 1 })
  const { options } = postgresJs(server.url, { connection: { application_name: 'cut' } })
  try {
    let losses = 0
    const events = { lost: () => losses++ }
    const { pid, query, close } = await openSession(options, events, new StatementTimeout(nodeRuntime))
    // The second waits until the first, which is prepared, has been described.
    const answers = Promise.allSettled([query('SELECT pg_sleep($1::int)', [9], true), query('SELECT 1', [])])
    await operator.query('SELECT pg_terminate_backend($1)', [pid])
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(losses).toBe(1)
    await expect(query('SELECT 1', [])).rejects.toThrow('ended')
    const left = "SELECT pid FROM pg_stat_activity WHERE application_name = 'cut'"
    await new Promise((resolve) => setTimeout(resolve, 300))
    await expect.poll(async () => (await operator.query(left)).rows, { timeout: 5000 }).toEqual([])
    await close()
  } finally {
    await operator.end()
    await server.stop()
  }
})
