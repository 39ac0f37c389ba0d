import type { AcquireOptions, Lease } from 'holdfast'
import type { AnyRedisClient } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { CURRENT, type Library, older } from '../library.ts'
import { OLDER_PREFIX } from '../older.ts'
import { type Addresses, type RedisSubject, TTL_MS } from './subject.ts'

type Release = 'await' | 'background'

export async function oursIoredis({ redis }: Addresses, release: Release = 'await'): Promise<RedisSubject> {
  return overIoredis(CURRENT, '', redis, release)
}

export async function olderIoredis({ redis }: Addresses): Promise<RedisSubject> {
  return overIoredis(await older(), OLDER_PREFIX, redis, 'await')
}

function overIoredis(library: Library, prefix: string, url: string, release: Release): RedisSubject {
  const client = new Redis(url)
  return subjectOver(library, prefix, client as unknown as AnyRedisClient, release, async () => {
    await client.quit()
  })
}

export async function oursNodeRedis({ redis }: Addresses, release: Release = 'await'): Promise<RedisSubject> {
  const client = createClient({ url: redis })
  await client.connect()
  return subjectOver(CURRENT, '', client as unknown as AnyRedisClient, release, () => client.close())
}

function subjectOver(
  { createLocks, redis: redisStore }: Library,
  prefix: string,
  client: AnyRedisClient,
  release: Release,
  end: () => Promise<void>,
): RedisSubject {
  const locks = createLocks({
    store: redisStore(client),
    prefix,
    ttl: TTL_MS,
    wait: Number.POSITIVE_INFINITY,
  })
  const options: AcquireOptions = release === 'background' ? { release } : {}
  return {
    run: (key, work) => locks.using(key, options, (lease) => fenced(lease, work)),
    async hold(key, ttlMs) {
      const lease = await locks.acquire(key, { ttl: ttlMs })
      return { isHeld: () => lease.held, release: () => lease.release() }
    },
    async close() {
      await locks.close()
      await end()
    },
  }
}

/** Nothing here is measured without the token that others do not have. */
function fenced(lease: Lease, work: () => Promise<void>): Promise<void> {
  if (lease.token === null) throw new Error('the lease has no fencing token')
  return work()
}
