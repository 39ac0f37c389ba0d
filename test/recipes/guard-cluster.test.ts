import { type RedisLike, redisGuard } from 'holdfast/guard'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { afterAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../scripts/servers/cluster.ts'

const cluster = await startCluster()
const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }))
const ioredis = new Cluster(nodes)
const prefixed = new Cluster(nodes, { keyPrefix: 'app:' })
/** With its own type, the compiler needs gigabytes. */
type NodeRedisCluster = RedisLike & { connect(): Promise<unknown>; destroy(): unknown }
const nodeRedis = (createCluster as unknown as (options: object) => NodeRedisCluster)({
  rootNodes: nodes.map((socket) => ({ socket })),
})
await nodeRedis.connect()
afterAll(async () => {
  ioredis.disconnect()
  prefixed.disconnect()
  await nodeRedis.destroy()
  await cluster.stop()
})

const KEYS = [
  'plain',
  'x}y',
  'a{}b{c}',
  '{tag} a',
  'a{tag}b}',
  '{a',
  'a{',
  '}',
  '{}',
  '{}{}',
  '}{',
  'x}{y}',
  'a',
  '{a}',
  '{{a}',
  'ä}',
  '',
]

describe.each(Object.entries({ ioredis, 'ioredis with a prefix': prefixed, 'node-redis': nodeRedis }))(
  'with %s',
  (name, client) => {
    // node-redis sends a command on the empty key to any node and gives up after some redirections.
    const keys = name === 'node-redis' ? KEYS.filter((key) => key !== '') : KEYS
    it.each(keys)('the fence of %j lies in the slot of its key', async (key) => {
      const guard = redisGuard(client)
      await guard.set(key, `${name} first`, 5n)
      await expect(guard.set(key, 'late', 4n)).rejects.toThrow('has seen token 5;')
      await guard.check(key, 6n)
      await expect(guard.check(key, 5n)).rejects.toMatchObject({ code: 'STALE_TOKEN' })
      const reader = client instanceof Cluster ? client : ioredis
      expect(await reader.get(key)).toBe(`${name} first`)
      await reader.del(key)
      for (const { operator } of cluster.nodes) await operator.flushall().catch(() => {})
    })
  },
)

it('every key has a fence of its own', async () => {
  const guard = redisGuard(ioredis)
  // In falling order: a key that shared the fence of an earlier one would be refused.
  for (const [index, key] of KEYS.entries()) await guard.check(key, BigInt(100 - index))
})
