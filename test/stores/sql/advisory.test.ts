import { connect, InvalidArgumentError, type Locks, UnsupportedError } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Bundle } from '../../../bench/bundle.ts'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPgbouncer } from '../../../scripts/servers/pgbouncer.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { Program } from '../../process/support/program.ts'

const HOLDER = new URL('./programs/holder.ts', import.meta.url)
const PATIENT = { timeout: 15_000 }

interface Operated {
  readonly url: string
  /** Takes and gives back the lock of a key as a program without Holdfast would. */
  readonly foreign: { readonly take: string; readonly give: string }
  ask(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** The numbers of the connections of stores. */
  connections(): Promise<number[]>
  cut(connection: number): Promise<unknown>
  restart(): Promise<void>
  close(): Promise<void>
}

const DATABASES: Record<string, () => Promise<Operated>> = {
  PostgreSQL: async () => {
    const server = await startPostgres()
    let operator = new pg.Client(server.url)
    await operator.connect()
    const ask = async (text: string) => (await operator.query(text)).rows
    const hash = `('x' || left(encode(sha256('shared'), 'hex'), 16))::bit(64)::bigint`
    return {
      url: server.url,
      foreign: {
        take: `SELECT pg_try_advisory_lock(${hash})`,
        give: `SELECT pg_advisory_unlock(${hash})`,
      },
      ask,
      connections: async () => {
        const rows = await ask(`SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'`)
        return rows.map(({ pid }) => pid)
      },
      cut: (pid) => ask(`SELECT pg_terminate_backend(${pid})`),
      restart: async () => {
        await operator.end()
        await server.shutDown()
        await server.start()
        operator = new pg.Client(server.url)
        await operator.connect()
      },
      close: async () => {
        await operator.end()
        await server.stop()
      },
    }
  },
  MariaDB: async () => {
    const server = await startMariadb()
    let operator = await mysql2.createConnection(server.url)
    const ask = async (text: string) => (await operator.query(text))[0] as Readonly<Record<string, unknown>>[]
    const name = `CONCAT('holdfast:', LEFT(SHA2('shared', 256), 48))`
    return {
      url: server.url,
      foreign: { take: `SELECT GET_LOCK(${name}, 0)`, give: `SELECT RELEASE_LOCK(${name})` },
      ask,
      connections: async () => {
        const rows = await ask(
          `SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()`,
        )
        return rows.map(({ id }) => Number(id))
      },
      cut: (id) => ask(`KILL ${id}`),
      restart: async () => {
        await operator.end()
        await server.shutDown()
        await server.start()
        operator = await mysql2.createConnection(server.url)
      },
      close: async () => {
        await operator.end()
        await server.stop()
      },
    }
  },
}

let bundle: Bundle
const rejections: unknown[] = []
const onRejection = (reason: unknown) => rejections.push(reason)
beforeAll(async () => {
  bundle = await Bundle.of(HOLDER)
  process.on('unhandledRejection', onRejection)
})
afterAll(async () => {
  process.off('unhandledRejection', onRejection)
  await bundle.remove()
})
beforeEach(() => {
  rejections.length = 0
})

describe.each(Object.entries(DATABASES))('advisory locks of %s', (_, start) => {
  let database: Operated
  let opened: Locks[] = []

  const open = async (): Promise<Locks> => {
    const locks = await connect(`${database.url}?advisory=true`, { ttl: 60_000, callTimeout: 1000 })
    opened.push(locks)
    return locks
  }

  beforeAll(async () => {
    database = await start()
  })
  afterAll(() => database.close())
  afterEach(async () => {
    await Promise.all(opened.map((locks) => locks.close()))
    opened = []
    expect(rejections).toEqual([])
    await expect.poll(() => database.connections(), PATIENT).toEqual([])
  })

  it('are lost at once when their connection is cut, long before their ttl, and can be taken on another', async () => {
    const locks = await open()
    const [first, second] = [await locks.acquire('one'), await locks.acquire('two')]
    const lost: string[] = []
    locks.on('lost', ({ key }) => lost.push(key))
    const [connection = 0, ...others] = await database.connections()
    expect(others, 'all locks share one connection').toEqual([])
    await database.cut(connection)
    await expect.poll(() => [...lost].sort(), PATIENT).toEqual(['one', 'two'])
    expect([first.held, second.held]).toEqual([false, false])
    expect(await first.release()).toBe('expired')
    const again = await locks.acquire('one')
    expect(again.held).toBe(true)
    expect(await database.connections()).toHaveLength(1)
  })

  it('reach a waiter when the connection of their holder is cut', async () => {
    const holder = await open()
    await holder.acquire('handed on')
    const [connection = 0] = await database.connections()
    const waiter = await open()
    const acquired = waiter.acquire('handed on', { wait: 20_000 })
    await database.cut(connection)
    expect((await acquired).held).toBe(true)
  })

  it('are lost with a restart of the server, and can be taken after it', async () => {
    const locks = await open()
    const lease = await locks.acquire('restarted')
    await database.restart()
    await expect.poll(() => lease.held, PATIENT).toBe(false)
    const again = await locks.acquire('restarted', { wait: 20_000 })
    expect(again.held).toBe(true)
  })

  it('of a stalled process are ended by the server, and its lease ends before that', async () => {
    const locks = await open()
    const program = new Program(bundle.path(HOLDER), [`${database.url}?advisory=true`, '1000'])
    let said = 0
    program.child.on('message', () => said++)
    try {
      await expect.poll(() => said, PATIENT).toBeGreaterThan(2)
      program.child.kill('SIGSTOP')
      const lease = await locks.acquire('kept', { wait: 20_000 })
      const before = said
      program.child.kill('SIGCONT')
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(said, 'nobody else is inside').toBe(before)
      await lease.release()
      await expect.poll(() => said, PATIENT).toBeGreaterThan(before)
    } finally {
      program.abandon()
      await program.ended
    }
  })

  it('exclude a program that takes the same lock by itself, under the name that the docs give', async () => {
    const locks = await open()
    const taken = async () => Object.values((await database.ask(database.foreign.take))[0] ?? {})[0]
    expect(Boolean(await taken())).toBe(true)
    expect(await locks.tryAcquire('shared')).toBeNull()
    expect((await locks.read('shared')).holders).toHaveLength(1)
    await expect(locks.evict('shared')).rejects.toThrow(UnsupportedError)
    await database.ask(database.foreign.give)
    const lease = await locks.acquire('shared')
    expect(Boolean(await taken())).toBe(false)
    expect(await locks.evict('shared')).toHaveLength(1)
    await expect.poll(() => lease.held, PATIENT).toBe(false)
  })

  it('refuse settings that only a table has', async () => {
    await expect(connect(`${database.url}?advisory=true&table=mine`)).rejects.toThrow(InvalidArgumentError)
    await expect(connect(`${database.url}?advisory=yes`)).rejects.toThrow(InvalidArgumentError)
  })
})

describe('advisory locks', () => {
  it('are refused behind a pooler in transaction mode', async () => {
    const server = await startPostgres()
    const pooler = await startPgbouncer(server.port)
    try {
      await expect(connect(`${pooler.url}?advisory=true`)).rejects.toThrow(UnsupportedError)
    } finally {
      await pooler.stop()
      await server.stop()
    }
  })

  it('are enabled by true, and by nothing else', async () => {
    const pool = new pg.Pool()
    const other = mysql2.createPool('mysql://nobody@127.0.0.1/none')
    const strange = { advisory: 'yes' as unknown as boolean }
    expect(() => postgres(pool, strange)).toThrow(InvalidArgumentError)
    expect(() => mysql(other, strange)).toThrow(InvalidArgumentError)
    await Promise.all([pool.end(), other.end()])
  })
})
