import { connect, StoreError } from 'holdfast'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'

/** Servers that take few connections. */
const [postgres, mariadb] = await Promise.all([
  startPostgres({ settings: ['max_connections=8', 'max_wal_senders=0', 'superuser_reserved_connections=0'] }),
  startMariadb({ settings: ['--max-connections=10'] }),
])
afterAll(() => Promise.all([postgres.stop(), mariadb.stop()]))

type Leave = () => Promise<unknown>
const others: Leave[] = []
afterEach(async () => {
  for (const leave of others.splice(0)) await leave()
})

async function enterPostgres(): Promise<Leave> {
  const client = new pg.Client(postgres.url)
  await client.connect()
  return () => client.end()
}

async function enterMariadb(): Promise<Leave> {
  const connection = await mysql2.createConnection(mariadb.url)
  return () => connection.end()
}

/** Others take every connection that the server gives. */
async function fill(enter: () => Promise<Leave>): Promise<void> {
  for (;;) {
    try {
      others.push(await enter())
    } catch {
      expect(others.length).toBeGreaterThan(2)
      return
    }
  }
}

describe.each([
  ['PostgreSQL', () => postgres.url, enterPostgres],
  ['MariaDB', () => mariadb.url, enterMariadb],
])('%s that takes no more connections', (_, url, enter) => {
  it('is retried for a while, then named as the cause', async () => {
    await fill(enter)
    const startedMs = performance.now()
    const error = await connect(url()).catch((reason) => reason)
    expect(error).toBeInstanceOf(StoreError)
    expect(error.message).toMatch(/takes no more connections \(max_connections\)/)
    expect(error.cause).toBeInstanceOf(Error)
    expect(performance.now() - startedMs).toBeGreaterThan(1000)
  }, 20_000)

  it('serves as soon as other connections have closed', async () => {
    await fill(enter)
    const connecting = connect(url())
    setTimeout(() => {
      for (const leave of others.splice(0)) void leave()
    }, 500)
    const locks = await connecting
    try {
      const lease = await locks.acquire('key')
      expect(lease.token).not.toBeNull()
      await lease.release()
    } finally {
      await locks.close()
    }
  }, 20_000)
})
