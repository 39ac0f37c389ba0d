import { createLocks } from 'holdfast'
import { type AnyRedisClient, redis, type TransactionClient, transaction } from 'holdfast/redis'
import { Cluster as IoredisCluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { startCluster } from '../../../scripts/servers/cluster.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { redisGuard } from '../../../src/recipes/guard/index.ts'
import { claimOf } from '../../model/arbitraries.ts'
import { CLIENTS } from './clients.ts'
import { CONFIGURED_CLIENTS, NODE_REDIS_6_FORMS } from './configured-clients.ts'

const server = await startRedis({ args: ['--save', ''] })
const operator = new Redis(server.port)
const cluster = await startCluster()
afterAll(async () => {
  operator.disconnect()
  await Promise.all([server.stop(), cluster.stop()])
})

async function bring<C>(name: string): Promise<C> {
  const { client, close } = await (CONFIGURED_CLIENTS[name] ?? CLIENTS[name] ?? expect.fail())(
    server.port,
    'forms',
  )
  onTestFinished(() => void close())
  return client as C
}

it.each(Object.keys({ ...CLIENTS, ...CONFIGURED_CLIENTS }))(
  'an inspection tells the same with %s',
  async (name) => {
    await operator.flushall()
    await operator.set('theirs', 'text')
    await operator.rpush('holdfast:units:{gone}', 'unit')
    const store = redis(await bring<AnyRedisClient>(name))
    onTestFinished(() => store.close())
    // Nobody listens for what becomes of this claim.
    await store.attempt([claimOf('silent', { key: 'held', ttlMs: 60_000, label: 'shop:1' })])
    const facts: object[] = []
    const { inspect = expect.fail() } = store.admin
    const options = { foreign: ['their*'], deadForMs: 0, values: true }
    for await (const fact of inspect.call(store.admin, options)) facts.push(fact)
    expect(facts).toMatchObject([
      { kind: 'clock', aheadMs: expect.closeTo(0, -4) },
      { kind: 'warning', code: 'HOLDFAST_REDIS_PERSISTENCE' },
      { kind: 'deaf', key: 'held', role: 'holder', label: 'shop:1' },
      { kind: 'orphan', name: 'holdfast:units:{gone}' },
      { kind: 'foreign', name: 'theirs', what: 'a string without a ttl', idleMs: expect.any(Number) },
    ])
  },
)

it.each([
  ['ioredis 5, numbers as texts', ['OK', '5'], '41'],
  ['redis 5, by its options', [Buffer.from('OK'), '5'], Buffer.from('41')],
] as const)(
  'a transaction goes through, and its replies are those of the client: %s',
  async (name, replies, read) => {
    const client = await bring<TransactionClient>(name)
    await operator.set(name, '41')
    let meddled = false
    const result = await transaction(client, [name], async (tx) => {
      const value = await tx.read('GET', name)
      if (!meddled) await operator.set(name, '41')
      meddled = true
      tx.queue('SET', name, '12345')
      tx.queue('STRLEN', name)
      return value
    })
    expect(result).toEqual({ value: read, replies, tries: 2 })
  },
)

it.each(['ioredis 5, numbers as texts', 'redis 5, by its options'])(
  'a guard tells the token it saw: %s',
  async (name) => {
    const guard = redisGuard(await bring<Redis>(name))
    await guard.set('guarded', 'value', 12n)
    await guard.check('guarded', 12n)
    await expect(guard.check('guarded', 11n)).rejects.toThrow('guarded has seen token 12;')
  },
)

describe('on a cluster', () => {
  const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }))
  const bringers: Record<string, () => Promise<{ client: AnyRedisClient; close(): unknown }>> = {
    ioredis: async () => {
      const client = new IoredisCluster(nodes, { redisOptions: { stringNumbers: true } })
      return { client, close: () => client.disconnect() }
    },
    'node-redis': async () => {
      const rootNodes = nodes.map((socket) => ({ socket }))
      const defaults = { commandOptions: { typeMapping: NODE_REDIS_6_FORMS } }
      const client = (createCluster as unknown as (options: object) => NodeRedisCluster)({
        rootNodes,
        defaults,
      })
      client.on('error', () => {})
      await client.connect()
      return { client, close: () => client.destroy() }
    },
  }

  it.each(Object.keys(bringers))('%s: locks are handed over and goods are taken', async (name) => {
    const { client, close } = await (bringers[name] ?? expect.fail())()
    const [one, other] = [0, 1].map(() => createLocks({ store: redis(client, { check: false }) })) as [
      ReturnType<typeof createLocks>,
      ReturnType<typeof createLocks>,
    ]
    onTestFinished(async () => {
      await Promise.all([one.close(), other.close()])
      await close()
    })
    const lease = await one.acquire(`${name} lock`, { ttl: '30s' })
    const next = other.acquire(`${name} lock`, { wait: '10s' })
    await expect.poll(async () => (await one.read(`${name} lock`)).queue.length).toBe(1)
    await lease.release()
    expect((await next).held).toBe(true)
    const sale = one.inventory(`${name} sale`)
    await sale.stock(3)
    expect(await sale.take('ada', { count: 2 })).toMatchObject({ kind: 'taken', count: 2 })
    expect(await sale.take('bob', { count: 2 })).toMatchObject({ kind: 'soldOut' })
  })
})

/** The used part of node-redis's cluster class: with its own type, the compiler needs gigabytes. */
interface NodeRedisCluster {
  readonly masters: readonly object[]
  readonly isOpen: boolean
  nodeClient(node: never): unknown
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  destroy(): unknown
}
