import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { type Addresses, POLL_MS, type RedisSubject, TTL_MS } from './subject.ts'

/** The hand-written lock: the least that a lock in Redis can cost. */
const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
const RELEASE_HASH = createHash('sha1').update(RELEASE).digest('hex')

interface RawClient {
  set(key: string, id: string): Promise<unknown>
  remove(key: string, id: string): Promise<unknown>
  close(): Promise<void>
}

export async function rawIoredis({ redis }: Addresses): Promise<RedisSubject> {
  const client = new Redis(redis)
  await client.script('LOAD', RELEASE)
  return polling({
    set: (key, id) => client.set(key, id, 'PX', TTL_MS, 'NX'),
    remove: (key, id) => client.evalsha(RELEASE_HASH, 1, key, id),
    async close() {
      await client.quit()
    },
  })
}

export async function rawNodeRedis({ redis }: Addresses): Promise<RedisSubject> {
  const client = createClient({ url: redis })
  await client.connect()
  await client.scriptLoad(RELEASE)
  return polling({
    set: (key, id) => client.set(key, id, { expiration: { type: 'PX', value: TTL_MS }, condition: 'NX' }),
    remove: (key, id) => client.evalSha(RELEASE_HASH, { keys: [key], arguments: [id] }),
    close: () => client.close(),
  })
}

function polling(client: RawClient): RedisSubject {
  return {
    async run(key, work) {
      const id = randomUUID()
      while ((await client.set(key, id)) === null) await sleep(POLL_MS * (0.5 + Math.random()))
      await work()
      await client.remove(key, id)
    },
    close: () => client.close(),
  }
}
