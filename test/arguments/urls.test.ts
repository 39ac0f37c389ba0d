import { connect, InvalidArgumentError } from 'holdfast'
import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { failure } from '../core/support.ts'

/** Nobody listens there: what is refused is refused before anything is opened. */
const NOWHERE = '127.0.0.1:1'
const SECRET = 's3cret'

const MISSPELT: readonly [string, string, string][] = [
  [`redis://${NOWHERE}?fromat=plain`, 'fromat', 'format'],
  [`rediss://${NOWHERE}/1?replica=1`, 'replica', 'replicas'],
  [`redis://${NOWHERE}?familly=6`, 'familly', 'family'],
  [`redis+sentinel://${NOWHERE}/main?sentinelPasword=${SECRET}`, 'sentinelPasword', 'sentinelPassword'],
  [`redis+cluster://${NOWHERE}?chek=off`, 'chek', 'check'],
  [`redlock://${NOWHERE}?tsl=true`, 'tsl', 'tls'],
  [`postgres://${NOWHERE}/db?tabel=x`, 'tabel', 'table'],
  [`postgres://${NOWHERE}/db?slmode=require`, 'slmode', 'sslmode'],
  [
    `postgres://${NOWHERE}/db?listen=${encodeURIComponent(`postgres://${NOWHERE}/db?optons=x`)}`,
    'optons',
    'options',
  ],
  [`mysql://${NOWHERE}/db?tabel=x`, 'tabel', 'table'],
  [`mariadb://${NOWHERE}/db?advisry=true`, 'advisry', 'advisory'],
  [`etcd://${NOWHERE}?crt=x`, 'crt', 'cert'],
  [`zookeeper+tls://app:${SECRET}@${NOWHERE}/path?crt=x`, 'crt', 'cert'],
  ['sqlite:./locks.db?allowUnsafeFilesystem=1', 'allowUnsafeFilesystem', 'allowUnsafeFileSystem'],
]

describe('a parameter that no store knows is refused, and the message names the right one', () => {
  test.each(MISSPELT)('%s', async (url, given, meant) => {
    const error = await failure(connect(url))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error).toMatchObject({ argument: 'url' })
    expect(error.message).toContain(`unknown parameter "${given}": did you mean "${meant}"?`)
    expect(error.message).not.toContain(SECRET)
  })
})

describe('a parameter that is given twice is refused', () => {
  test.each([
    [`redis://${NOWHERE}?format=plain&format=holdfast`, 'format'],
    [`redis://${NOWHERE}?family=4&family=6`, 'family'],
    [`redis+sentinel://${NOWHERE}/main?sentinelPassword=a&sentinelPassword=b`, 'sentinelPassword'],
    [`redlock://${NOWHERE}?tls=true&tls=false`, 'tls'],
    [`postgres://${NOWHERE}/db?table=a&table=b`, 'table'],
    [`postgres://${NOWHERE}/db?sslmode=require&sslmode=disable`, 'sslmode'],
    [`mysql://${NOWHERE}/db?table=a&table=b`, 'table'],
    [`etcd://${NOWHERE}?tls=1&tls=0`, 'tls'],
    [`zookeeper://${NOWHERE}?auth=sasl&auth=digest`, 'auth'],
    ['sqlite:./locks.db?allowUnsafeFileSystem=1&allowUnsafeFileSystem=0', 'allowUnsafeFileSystem'],
  ])('%s', async (url, name) => {
    expect((await failure(connect(url))).message).toBe(`url gives the parameter ${name} twice`)
  })
})

test('a possible piece of a password is not repeated', async () => {
  const error = await failure(connect(`redis://app:5?${SECRET}@host`))
  expect(error.message).toBe('url has an unknown parameter')
})

test('a memory store has no name that others could share', async () => {
  for (const url of ['memory:shop', 'memory:?table=x', 'memory://shop'])
    expect(await failure(connect(url))).toMatchObject({ argument: 'url' })
  for (const url of ['memory:', 'memory://']) await (await connect(url)).close()
})

test('a text that is no URL, and a value that is no options, are refused by name', async () => {
  for (const url of [undefined, null, 42, '', 'x', {}, []])
    expect(await failure(connect(url as never))).toMatchObject({ argument: 'url' })
  for (const options of [null, 42, 'x', []])
    expect(await failure(connect('memory:', options as never))).toMatchObject({ argument: 'options' })
})

describe('parameters of the client library reach it', () => {
  const stops: (() => unknown)[] = []
  afterAll(async () => {
    for (const stop of stops) await stop()
  })

  test('PostgreSQL: application_name beside our own', async () => {
    const server = await startPostgres()
    stops.push(() => server.stop())
    await using locks = await connect(`${server.url}?application_name=shop&sslmode=disable&table=parameters`)
    await using lease = await locks.acquire('a')
    expect(lease.held).toBe(true)
    const operator = new pg.Client({ connectionString: server.url })
    await operator.connect()
    const sessions = await operator.query("SELECT 1 FROM pg_stat_activity WHERE application_name = 'shop'")
    const rows = await operator.query('SELECT 1 FROM parameters_keys')
    await operator.end()
    expect(sessions.rowCount).toBeGreaterThan(0)
    expect(rows.rowCount).toBe(1)
  })

  test('Redis: family', async () => {
    const server = await startRedis()
    stops.push(() => server.stop())
    await using locks = await connect(`redis://localhost:${server.port}?family=4&format=plain`)
    await using lease = await locks.acquire('a')
    expect({ held: lease.held, store: locks.traits.order }).toEqual({ held: true, store: 'race' })
    expect(await failure(connect(`redis://${NOWHERE}?family=5`))).toMatchObject({ argument: 'family' })
  })
})
