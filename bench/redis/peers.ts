import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { load } from './load.ts'
import type {
  LiveMutexModule,
  RedisSemaphoreModule,
  Redlock4,
  Redlock4Constructor,
  Redlock5,
  Redlock5Constructor,
  UniversalModule,
  VerrouDriverModule,
  VerrouModule,
} from './peer-shapes.ts'
import { type Addresses, type Held, POLL_MS, type RedisSubject, TTL_MS } from './subject.ts'

/** `stock`: the waits and limits that the library comes with. `tuned`: it looks again about every 5 ms and never gives up. */
export type Settings = 'stock' | 'tuned'

const REDLOCK_TUNED = { retryCount: -1, retryDelay: POLL_MS, retryJitter: POLL_MS / 2 }
const NEVER = 1_000_000_000

export async function redlock4({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const { default: Redlock } = await load<{ default: Redlock4Constructor }>('redlock4')
  const client = new Redis(redis)
  const redlock: Redlock4 = new Redlock([client], settings === 'tuned' ? REDLOCK_TUNED : {})
  return {
    async run(key, work) {
      const lock = await redlock.lock(key, TTL_MS)
      await work()
      await lock.unlock()
    },
    close: () => closed(client),
  }
}

export async function redlock5({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const { default: Redlock } = await load<{ default: Redlock5Constructor }>('redlock5')
  return overRedlock5(Redlock, new Redis(redis), settings)
}

export async function sesamecare({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const { Redlock } = await load<{ Redlock: Redlock5Constructor }>('@sesamecare-oss/redlock')
  return overRedlock5(Redlock, new Redis(redis), settings)
}

function overRedlock5(Redlock: Redlock5Constructor, client: Redis, settings: Settings): RedisSubject {
  const redlock: Redlock5 = new Redlock([client], settings === 'tuned' ? REDLOCK_TUNED : {})
  // Without a listener, the first waiter that finds the key taken ends the process.
  redlock.on('error', () => {})
  return {
    async run(key, work) {
      const lock = await redlock.acquire([key], TTL_MS)
      await work()
      await lock.release()
    },
    hold: (key, ttlMs) => heldInside((routine) => redlock.using([key], ttlMs, routine)),
    close: () => closed(client),
  }
}

export async function redisSemaphore({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const { Mutex } = await load<RedisSemaphoreModule>('redis-semaphore')
  const client = new Redis(redis)
  const waiting = settings === 'tuned' ? { retryInterval: POLL_MS, acquireTimeout: NEVER } : {}
  return {
    async run(key, work) {
      const mutex = new Mutex(client, key, { lockTimeout: TTL_MS, ...waiting })
      await mutex.acquire()
      await work()
      await mutex.release()
    },
    async hold(key, ttlMs) {
      const mutex = new Mutex(client, key, { lockTimeout: ttlMs, onLockLost: () => {} })
      await mutex.acquire()
      return { isHeld: () => mutex.isAcquired, release: () => mutex.release() }
    },
    close: () => closed(client),
  }
}

export async function verrou({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const { LockFactory } = await load<VerrouModule>('@verrou/core')
  const { redisStore } = await load<VerrouDriverModule>('@verrou/core/drivers/redis')
  const client = new Redis(redis)
  const store = redisStore({ connection: client }).factory()
  const factory = new LockFactory(store, settings === 'tuned' ? { retry: { delay: POLL_MS } } : {})
  return {
    async run(key, work) {
      const lock = factory.createLock(key, TTL_MS)
      if (!(await lock.acquire())) throw new Error(`${key} was not acquired`)
      await work()
      await lock.release()
    },
    close: () => closed(client),
  }
}

export async function universalIoredis({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const library = await load<UniversalModule>('redlock-universal')
  const client = new Redis(redis)
  return overUniversal(library, new library.IoredisAdapter(client), settings, () => closed(client))
}

export async function universalNodeRedis({ redis }: Addresses, settings: Settings): Promise<RedisSubject> {
  const library = await load<UniversalModule>('redlock-universal')
  const client = createClient({ url: redis })
  await client.connect()
  return overUniversal(library, new library.NodeRedisAdapter(client), settings, () => client.close())
}

function overUniversal(
  { createLock }: UniversalModule,
  adapter: object,
  settings: Settings,
  close: () => Promise<void>,
): RedisSubject {
  const waiting = settings === 'tuned' ? { retryAttempts: NEVER, retryDelay: POLL_MS } : {}
  return {
    async run(key, work) {
      const lock = createLock({ adapter, key, ttl: TTL_MS, ...waiting })
      const handle = await lock.acquire()
      await work()
      await lock.release(handle)
    },
    hold: (key, ttlMs) => heldInside((routine) => createLock({ adapter, key, ttl: ttlMs }).using(routine)),
    close,
  }
}

/** Not a Redis lock: a broker of its own that keeps a line in its memory and pushes. */
export async function liveMutex({ brokerPort }: Addresses): Promise<RedisSubject> {
  const { default: library } = await load<{ default: LiveMutexModule }>('live-mutex')
  const client = new library.Client({ port: brokerPort, lockRequestTimeout: 60_000, ttl: TTL_MS })
  client.emitter.on('warning', () => {})
  await client.ensure()
  return {
    async run(key, work) {
      const { id } = await client.acquire(key)
      await work()
      await client.release(key, { id })
    },
    async close() {
      client.close()
    },
  }
}

/** For libraries that renew only around a function: it runs until the key is let go. */
function heldInside(
  using: (routine: (signal: { readonly aborted: boolean }) => Promise<void>) => Promise<unknown>,
): Promise<Held> {
  return new Promise((resolve, reject) => {
    const over = using(
      (signal) =>
        new Promise((letGo) => {
          const release = (): Promise<unknown> => {
            letGo()
            return over
          }
          resolve({ isHeld: () => !signal.aborted, release })
        }),
    )
    over.catch(reject)
  })
}

async function closed(client: Redis): Promise<void> {
  await client.quit()
}
