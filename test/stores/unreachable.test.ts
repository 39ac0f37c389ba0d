import { inspect } from 'node:util'
import { connect, createLocks, StoreError } from 'holdfast'
import { quorum } from 'holdfast/quorum'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { startMariadb } from '../../scripts/servers/mariadb.ts'
import { freePort } from '../../scripts/servers/ports.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { whyOf } from '../../src/errors.ts'
import { failure } from '../core/support.ts'
import { CLIENTS } from './redis/clients.ts'

const PASSWORD = 's3cret-canary'
const [postgres, mariadb, guarded] = await Promise.all([
  startPostgres(),
  startMariadb(),
  startRedis({ args: ['--requirepass', 'another'] }),
])
const [closed, second, third] = await Promise.all([freePort(), freePort(), freePort()])
afterAll(() => Promise.all([postgres.stop(), mariadb.stop(), guarded.stop()]))

const REFUSED = `connect ECONNREFUSED 127.0.0.1:${closed}`
const NOT_FOUND = 'getaddrinfo ENOTFOUND nowhere.invalid'

/** All text of an error, with its causes and their own properties. */
function everythingOf(error: Error): string {
  return `${inspect(error, { depth: 20, showHidden: true })} ${error.stack}`
}

describe('by URL, the message and the cause name the problem, and never the password', () => {
  it.each([
    ['redis', `redis://app:${PASSWORD}@127.0.0.1:${closed}`, REFUSED, 'ECONNREFUSED'],
    ['redis', `redis://app:${PASSWORD}@nowhere.invalid`, NOT_FOUND, 'ENOTFOUND'],
    ['sentinel', `redis+sentinel://app:${PASSWORD}@127.0.0.1:${closed}/service`, REFUSED, 'ECONNREFUSED'],
    ['sentinel', `redis+sentinel://app:${PASSWORD}@nowhere.invalid/service`, NOT_FOUND, 'ENOTFOUND'],
    ['cluster', `redis+cluster://app:${PASSWORD}@127.0.0.1:${closed}`, REFUSED, 'ECONNREFUSED'],
    ['cluster', `redis+cluster://app:${PASSWORD}@nowhere.invalid`, NOT_FOUND, 'ENOTFOUND'],
    ['postgres', `postgres://app:${PASSWORD}@127.0.0.1:${closed}/shop`, REFUSED, 'ECONNREFUSED'],
    ['postgres', `postgres://app:${PASSWORD}@nowhere.invalid/shop`, NOT_FOUND, 'ENOTFOUND'],
    ['mysql', `mysql://app:${PASSWORD}@127.0.0.1:${closed}/shop`, REFUSED, 'ECONNREFUSED'],
    ['mysql', `mysql://app:${PASSWORD}@nowhere.invalid/shop`, NOT_FOUND, 'ENOTFOUND'],
    ['etcd', `etcd://app:${PASSWORD}@127.0.0.1:${closed}`, REFUSED, 'ECONNREFUSED'],
    ['etcd', `etcd://app:${PASSWORD}@nowhere.invalid`, NOT_FOUND, 'ENOTFOUND'],
    ['zookeeper', `zookeeper://app:${PASSWORD}@127.0.0.1:${closed}`, REFUSED, undefined],
    ['zookeeper', `zookeeper://app:${PASSWORD}@nowhere.invalid`, NOT_FOUND, undefined],
    ['zookeeper', `zookeeper+tls://app:${PASSWORD}@127.0.0.1:${closed}?auth=sasl`, REFUSED, undefined],
  ])('%s: %s', async (_, url, why, code) => {
    const error = await failure(connect(url))
    expect(error).toBeInstanceOf(StoreError)
    expect(error.message).toMatch(/(127\.0\.0\.1|nowhere\.invalid):\d+/)
    expect(error.message).toContain(why)
    expect((error.cause as { code?: string }).code).toBe(code)
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it('quorum: for each node', async () => {
    const hosts = [closed, second, third].map((port) => `127.0.0.1:${port}`)
    const error = await failure(connect(`redlock://app:${PASSWORD}@${hosts.join(',')}`))
    for (const host of hosts) expect(error.message).toContain(`${host}: connect ECONNREFUSED ${host}`)
    const { errors } = error.cause as AggregateError
    expect(errors.map(({ cause }) => cause.code)).toEqual(['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'])
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it.each([
    ['redis', () => `redis://app:${PASSWORD}@127.0.0.1:${guarded.port}`],
    ['cluster', () => `redis+cluster://app:${PASSWORD}@127.0.0.1:${guarded.port}`],
    ['quorum', () => `redlock://app:${PASSWORD}@127.0.0.1:${guarded.port}`],
  ])('%s: a wrong password is named as the cause', async (_, url) => {
    const error = await failure(connect(url()))
    expect(error.message).toMatch(/WRONGPASS invalid username-password pair/)
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it.each([
    ['postgres', () => postgres.url],
    ['mysql', () => mariadb.url],
  ])('%s: a user who is refused is named', async (_, urlOf) => {
    const url = urlOf().replace(/\/\/([^@/]*@)?/, `//ada:${PASSWORD}@`)
    const error = await failure(connect(url))
    expect(error).toBeInstanceOf(StoreError)
    expect(error.message).toMatch(/\bada\b/)
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it('PostgreSQL: the user is named also where the server is silent about it', async () => {
    const error = await failure(connect(`postgres://ada%40shop:${PASSWORD}@127.0.0.1:${closed}/shop`))
    expect(error.message).toBe(
      `PostgreSQL at 127.0.0.1:${closed}/shop, as the user ada@shop, cannot be reached: ${REFUSED}`,
    )
  })
})

it('all addresses of a host are named, since the error for all of them has no message', () => {
  const errors = ['connect ECONNREFUSED ::1:1', 'connect ECONNREFUSED 127.0.0.1:1'].map(
    (text) => new Error(text),
  )
  expect(whyOf(new AggregateError(errors))).toBe(
    'connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1',
  )
})

describe('with a client of the caller', () => {
  it.each(['ioredis 5', 'ioredis 6', 'redis 5', 'redis 6'])('%s: a server that went away', async (name) => {
    const server = await startRedis()
    const { client, close } = await (CLIENTS[name] ?? expect.fail())(server.port, 'gone')
    const locks = createLocks({ store: redis(client, { check: false }) })
    onTestFinished(async () => {
      await locks.close()
      await close()
      await server.stop()
    })
    await locks.using('key', () => {})
    await server.kill()
    const refused = `connect ECONNREFUSED 127.0.0.1:${server.port}`
    await expect
      .poll(async () => (await failure(locks.acquire('key', { wait: 0 }))).message, { timeout: 5000 })
      .toContain(refused)
    const error = await failure(locks.acquire('key', { wait: 0 }))
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(codesOf(error)).toContain('ECONNREFUSED')
  })

  it.each([
    ['that connects by itself', {}],
    ['that waits to be used', { lazyConnect: true }],
  ])('ioredis %s: a server that was never there', async (_, options) => {
    const client = new Redis(closed, '127.0.0.1', { ...options, username: 'app', password: PASSWORD })
    client.on('error', () => {})
    const locks = createLocks({ store: redis(client, { check: false }) })
    onTestFinished(async () => {
      await locks.close()
      client.disconnect()
    })
    const error = await failure(locks.acquire('key', { wait: 0 }))
    expect(error.message).toContain(REFUSED)
    expect(codesOf(error)).toContain('ECONNREFUSED')
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it('ioredis: a wrong password is named as the cause, and not shown', async () => {
    const client = new Redis(guarded.port, '127.0.0.1', {
      username: 'app',
      password: PASSWORD,
      lazyConnect: true,
    })
    client.on('error', () => {})
    const locks = createLocks({ store: redis(client, { check: false }) })
    onTestFinished(async () => {
      await locks.close()
      client.disconnect()
    })
    const error = await failure(locks.acquire('key', { wait: 0 }))
    expect(error.message).toContain('WRONGPASS')
    expect(everythingOf(error)).not.toContain(PASSWORD)
  })

  it('quorum: a server that went away', async () => {
    const server = await startRedis()
    const client = new Redis(server.port)
    client.on('error', () => {})
    const locks = createLocks({ store: quorum([client]) })
    onTestFinished(async () => {
      await locks.close()
      client.disconnect()
      await server.stop()
    })
    await locks.using('key', () => {})
    await server.kill()
    await expect
      .poll(async () => (await failure(locks.acquire('key', { wait: 0 }))).message, { timeout: 5000 })
      .toContain(`connect ECONNREFUSED 127.0.0.1:${server.port}`)
  })
})

function codesOf(error: unknown): unknown[] {
  return error instanceof Error ? [(error as { code?: unknown }).code, ...codesOf(error.cause)] : []
}
