import { connect, createLocks, type Locks, type Store } from 'holdfast'
import { postgres as postgresStore } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { startProxy } from '../../../scripts/servers/proxy.ts'
import { failure } from '../../core/support.ts'
import * as mysql from '../mysql/clients.ts'
import * as postgres from '../postgres/clients.ts'

const servers = await Promise.all([startPostgres(), startMariadb(), startPostgres(), startMariadb()])
const [postgresServer, mariadbServer, secondPostgres, secondMariadb] = servers
const operators = {
  postgres: new pg.Pool({ connectionString: postgresServer.url }),
  mariadb: mysql2.createPool(mariadbServer.url),
}
afterAll(async () => {
  await Promise.all([operators.postgres.end(), operators.mariadb.end()])
  await Promise.all(servers.map((server) => server.stop()))
})

/** Root may write to a MariaDB server that is read-only. */
for (const server of [mariadbServer, secondMariadb]) {
  const pool = mysql2.createPool(server.url)
  await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON holdfast.* TO app@'%' IDENTIFIED BY 'x'`)
  await pool.end()
}
/** A replica has the tables, too. */
for (const { url } of [secondPostgres, secondMariadb]) await (await connect(url)).close()
const asApp = (url: string) => url.replace('root@', 'app:x@')

async function setPostgres(readOnly: boolean): Promise<void> {
  await operators.postgres.query(
    `ALTER SYSTEM SET default_transaction_read_only = ${readOnly ? 'on' : 'off'}`,
  )
  await operators.postgres.query('SELECT pg_reload_conf()')
  const shown = () => operators.postgres.query('SHOW default_transaction_read_only')
  await expect.poll(async () => Object.values((await shown()).rows[0])[0]).toBe(readOnly ? 'on' : 'off')
}

const setMariadb = (readOnly: boolean) =>
  operators.mariadb.query(`SET GLOBAL read_only = ${readOnly ? 1 : 0}`).then(() => {})

type Open = (url: string) => Promise<Store>
const postgresOf = (name: 'pg' | 'postgres'): Open => {
  const bring = postgres.CLIENTS[name] as (typeof postgres.CLIENTS)[string]
  return async (url) => (await postgres.openStore(bring, url)).store
}
const mysqlOf = (name: 'mysql2' | 'mariadb'): Open => {
  const bring = mysql.CLIENTS[name] as (typeof mysql.CLIENTS)[string]
  return async (url) => mysql.openStore(bring, url)
}

const READ_ONLY = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('read-only') }

const opened: Locks[] = []
const keep = (locks: Locks): Locks => {
  opened.push(locks)
  return locks
}
afterEach(async () => {
  await Promise.all([setPostgres(false), setMariadb(false)])
  await Promise.all(opened.splice(0).map((locks) => locks.close()))
})

describe.each([
  ['pg', postgresServer.url, secondPostgres, setPostgres, postgresOf('pg')],
  ['postgres', postgresServer.url, secondPostgres, setPostgres, postgresOf('postgres')],
  ['mysql2', asApp(mariadbServer.url), secondMariadb, setMariadb, mysqlOf('mysql2')],
  ['mariadb', asApp(mariadbServer.url), secondMariadb, setMariadb, mysqlOf('mariadb')],
] as const)('%s: a read-only server', (_, url, second, setReadOnly, open) => {
  const { port } = new URL(url)

  it('is named as the cause, and serves the same locks again as soon as it takes writes', async () => {
    const locks = keep(createLocks({ store: await open(url) }))
    await locks.using('before', () => {})
    await setReadOnly(true)
    expect(await failure(locks.acquire('refused', { wait: 0 }))).toMatchObject(READ_ONLY)
    expect(await failure(locks.tryAcquire('refused'))).toMatchObject(READ_ONLY)
    expect(await failure(connect(url))).toMatchObject(READ_ONLY)
    await setReadOnly(false)
    await locks.using('refused', { wait: 0 }, () => {})
  })

  it('lets a holder renew and release once it takes writes again, and a waiter have the key', async () => {
    const locks = keep(createLocks({ store: await open(url), ttl: 4000 }))
    const lease = await locks.acquire('held')
    const waiting = locks.acquire('held', { wait: 20_000 })
    await setReadOnly(true)
    expect(await failure(lease.extend(4000))).toMatchObject(READ_ONLY)
    await setReadOnly(false)
    await lease.extend(4000)
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe('released')
    await (await waiting).release()
  })

  it('is abandoned when its address moves to a server that takes writes', async () => {
    const address = await startProxy(Number(port))
    onTestFinished(() => address.close())
    const locks = keep(createLocks({ store: await open(url.replace(port, String(address.port))) }))
    await Promise.all(['a', 'b', 'c'].map((key) => locks.using(key, () => {})))
    await setReadOnly(true)
    await expect
      .poll(() => locks.using('moved', { wait: 0 }, () => {}).catch((error) => error))
      .toMatchObject(READ_ONLY)
    address.moveTo(second.port)
    await expect
      .poll(() => locks.using('moved', { wait: 0 }, () => 'granted').catch((error) => error.message), {
        timeout: 10_000,
      })
      .toBe('granted')
    await locks.using('again', { wait: 0 }, () => {})
  })
})

it('a hot standby is reported as read-only, and serves the same locks after its promotion', async () => {
  const primary = await startPostgres()
  onTestFinished(() => primary.stop())
  const standby = await primary.startStandby()
  onTestFinished(() => standby.stop())
  const before = keep(await connect(primary.url))
  await before.using('key', () => {})
  const pool = new pg.Pool({ connectionString: standby.url })
  onTestFinished(() => pool.end())
  await expect
    .poll(async () => (await pool.query(`SELECT to_regclass('holdfast_keys') AS found`)).rows[0].found)
    .not.toBeNull()
  expect(await failure(connect(standby.url))).toMatchObject(READ_ONLY)
  const locks = keep(createLocks({ store: postgresStore(pool) }))
  expect(await failure(locks.acquire('key', { wait: 0 }))).toMatchObject(READ_ONLY)
  expect(await failure(locks.read('key'))).toMatchObject(READ_ONLY)
  const tx = await pool.connect()
  for (const each of [before, locks]) {
    await tx.query('BEGIN')
    expect(await failure(each.within(tx, 'key', () => {}))).toMatchObject(READ_ONLY)
    await tx.query('ROLLBACK')
  }
  await pool.query('SELECT pg_promote()')
  await tx.query('BEGIN')
  await locks.within(tx, 'key', () => tx.query('COMMIT'))
  tx.release()
  await locks.using('another', { wait: 0 }, () => {})
})
