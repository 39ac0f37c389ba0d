import { type AcquireOptions, createLocks, type Lease } from 'holdfast'
import { type AnyRedisClient, redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { type RedisSubject, TTL_MS } from './subject.ts'

export async function oursIoredis(url: string, release: AcquireOptions['release'] = 'await') {
  const client = new Redis(url)
  return subjectOver(client as unknown as AnyRedisClient, release, async () => {
    await client.quit()
  })
}

export async function oursNodeRedis(url: string, release: AcquireOptions['release'] = 'await') {
  const client = createClient({ url })
  await client.connect()
  return subjectOver(client as unknown as AnyRedisClient, release, () => client.close())
}

function subjectOver(
  client: AnyRedisClient,
  release: 'await' | 'background' | undefined,
  end: () => Promise<void>,
): RedisSubject {
  const locks = createLocks({ store: redis(client), ttl: TTL_MS, wait: Number.POSITIVE_INFINITY })
  const options: AcquireOptions = release === undefined ? {} : { release }
  return {
    run: (key, work) => locks.using(key, options, (lease) => fenced(lease, work)),
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
