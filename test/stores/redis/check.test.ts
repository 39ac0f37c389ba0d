import { createLocks, type Locks, type Runtime } from 'holdfast'
import { type RedisOptions, redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { Facts } from '../../../src/stores/redis/check/facts.ts'
import { findingsOf } from '../../../src/stores/redis/check/findings.ts'
import { CLIENTS, openStore } from './clients.ts'
import { CONFIGURED_CLIENTS } from './configured-clients.ts'
import { startReplica } from './replica.ts'

const EVICTION = 'HOLDFAST_REDIS_EVICTION'
const PERSISTENCE = 'HOLDFAST_REDIS_PERSISTENCE'
const REPLICAS = 'HOLDFAST_REDIS_REPLICAS'
const CLOCK = 'HOLDFAST_REDIS_CLOCK'

let sound: RedisServer
let careless: RedisServer
let replica: RedisServer
let soundOperator: Redis
let carelessOperator: Redis
const opened: Locks[] = []

beforeAll(async () => {
  sound = await startRedis({ persistent: true })
  careless = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru', '--save', ''] })
  replica = await startReplica(careless.port)
  soundOperator = new Redis(sound.port)
  carelessOperator = new Redis(careless.port)
})

afterAll(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  soundOperator?.disconnect()
  carelessOperator?.disconnect()
  await Promise.all([sound, careless, replica].map((server) => server?.stop()))
})

describe('a server is looked at once', () => {
  for (const [client, bring] of Object.entries({ ...CLIENTS, ...CONFIGURED_CLIENTS })) {
    it.concurrent(`with ${client}, and what endangers locks is told`, async ({ expect }) => {
      const { store } = await openStore(bring, careless.port)
      const { codes, messages } = listenTo(createLocks({ store }))
      await expect.poll(codes, { timeout: 5000 }).toEqual([EVICTION, PERSISTENCE, REPLICAS])
      expect(messages().join()).toMatch(/allkeys-lru.*noeviction.*appendonly.*a replica.*wait: 1/)
      expect(messages().join()).toContain(String(careless.port))
    })
  }

  it.concurrent('and nothing is told of a sound one', async ({ expect }) => {
    const before = await infoCalls(soundOperator)
    const { codes, locks } = listenTo(createLocks({ store: redis(soundOperator) }))
    await locks.using('key', () => {})
    await expect.poll(() => infoCalls(soundOperator), { timeout: 5000 }).toBeGreaterThan(before + 1)
    // Commands after the check are answered after it.
    await soundOperator.ping()
    expect(codes()).toEqual([])
  })

  it.concurrent('and a clock far from ours is told', async ({ expect }) => {
    const runtime: Runtime = { ...nodeRuntime, wallMs: () => nodeRuntime.wallMs() - 60_000 }
    const { codes, messages } = listenTo(open(soundOperator, { runtime }))
    await expect.poll(codes, { timeout: 5000 }).toEqual([CLOCK])
    expect(messages()[0]).toContain('60 s ahead of')
  })

  it.concurrent('and replicas that are missing are told', async ({ expect }) => {
    const { codes, messages } = listenTo(open(carelessOperator, { replicas: { wait: 2, timeout: 100 } }))
    await expect.poll(codes, { timeout: 5000 }).toContain(REPLICAS)
    expect(messages().join()).toContain('fewer replicas (1) than each lock waits for (2)')
  })

  it.concurrent('unless that is switched off', async ({ expect }) => {
    const off = listenTo(open(carelessOperator, { check: false }))
    const on = listenTo(open(carelessOperator))
    await expect.poll(on.codes, { timeout: 5000 }).toHaveLength(3)
    expect(off.codes()).toEqual([])
  })

  it.concurrent('and one that may not be asked is used all the same', async ({ expect }) => {
    const rules = ['on', '>secret', '~*', '&*', '+@all', '-config', '-info']
    await carelessOperator.call('ACL', ['SETUSER', 'limited', ...rules])
    const client = new Redis(careless.port, {
      username: 'limited',
      password: 'secret',
      enableReadyCheck: false,
    })
    const { codes, locks } = listenTo(createLocks({ store: redis(client) }))
    const refused = async () => String(await carelessOperator.call('ACL', ['LOG'])).includes('config')
    await expect.poll(refused, { timeout: 5000 }).toBe(true)
    await locks.using('key', () => {})
    expect(codes()).toEqual([])
    await locks.close()
    client.disconnect()
  })

  it.concurrent('and becomes a warning of the process when nobody listens, once', async ({ expect }) => {
    const heard: Error[] = []
    const onWarning = (warning: Error) => {
      if (warning.name === 'HoldfastWarning') heard.push(warning)
    }
    process.on('warning', onWarning)
    const other = await startRedis({ args: ['--save', ''] })
    const clients = [new Redis(other.port), new Redis(other.port)]
    const both = clients.map((client) => createLocks({ store: redis(client) }))
    const told = () => heard.filter(({ message }) => message.includes(`port ${other.port} `))
    await expect.poll(told, { timeout: 5000 }).toHaveLength(1)
    expect(told()[0]).toMatchObject({ code: PERSISTENCE })
    const listened = listenTo(createLocks({ store: redis(clients[0] as Redis) }))
    await expect.poll(listened.codes, { timeout: 5000 }).toEqual([PERSISTENCE])
    expect(told()).toHaveLength(1)
    await Promise.all([...both, listened.locks].map((locks) => locks.close()))
    for (const client of clients) client.disconnect()
    await other.stop()
    process.off('warning', onWarning)
  })
})

describe('the meaning of the facts', () => {
  const facts: Facts = {
    port: '6379',
    version: '7.0.15',
    isValkey: false,
    evictionPolicy: 'noeviction',
    memoryUsed: null,
    persistent: true,
    replicas: 0,
    clockAheadMs: 20,
  }
  const codesOf = (changes: Partial<Facts>, wait = 0) =>
    findingsOf({ ...facts, ...changes }, wait).map(({ code }) => code.replace('HOLDFAST_REDIS_', ''))

  it.each([
    [{}, []],
    [{ version: '6.2.14' }, ['VERSION']],
    [{ version: '10.0.0' }, []],
    [{ version: '4.0.9', isValkey: true }, []],
    [{ evictionPolicy: 'volatile-ttl' }, ['EVICTION']],
    [{ memoryUsed: 0.5 }, []],
    [{ memoryUsed: 1.01, persistent: false }, ['MEMORY', 'PERSISTENCE']],
    [{ memoryUsed: 1.01, evictionPolicy: 'allkeys-lru' }, ['EVICTION']],
    [{ persistent: false }, ['PERSISTENCE']],
    [{ replicas: 2 }, ['REPLICAS']],
    [{ clockAheadMs: -11_000 }, ['CLOCK']],
    [{ version: null, evictionPolicy: null, persistent: null, replicas: null, clockAheadMs: null }, []],
  ])('%o gives %o', (changes, codes) => {
    expect(codesOf(changes)).toEqual(codes)
  })

  it('replicas that are waited for are no danger', () => {
    expect(codesOf({ replicas: 2 }, 1)).toEqual([])
    expect(codesOf({ replicas: 1 }, 2)).toEqual(['REPLICAS'])
  })
})

function open(client: Redis, options: RedisOptions = {}): Locks {
  return createLocks({ store: redis(client, options) })
}

function listenTo(locks: Locks) {
  opened.push(locks)
  const heard: { code: string; message: string }[] = []
  locks.on('warning', (warning) => heard.push(warning))
  return {
    locks,
    codes: () => heard.map(({ code }) => code),
    messages: () => heard.map(({ message }) => message),
  }
}

async function infoCalls(operator: Redis): Promise<number> {
  return Number(/cmdstat_info:calls=(\d+)/.exec(await operator.info('commandstats'))?.[1] ?? 0)
}
