import type { Redis } from 'ioredis'
import { Mutex } from 'redis-semaphore'
import Redlock, { type Lock } from 'redlock'

/** Another way to hold a lock in Redis, one attempt at a time. */
export interface Peer {
  /** The prefix of its lock names. */
  readonly prefix: string
  /** The way to let go, or null when somebody else holds the lock. */
  tryTake(key: string, ttlMs: number): Promise<(() => Promise<unknown>) | null>
}

const RELEASE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`
let ids = 0

export function peersOf(client: Redis): Record<string, Peer> {
  const redlock = new Redlock([client], { retryCount: 0 })
  return {
    redlock: {
      prefix: '',
      tryTake: async (key, ttlMs) => {
        const lock: Lock | null = await redlock.acquire([key], ttlMs).catch(() => null)
        // It reports a lock that was lost as an error.
        return lock === null ? null : () => lock.release().catch(() => null)
      },
    },
    'redis-semaphore': {
      prefix: 'mutex:',
      tryTake: async (key, ttlMs) => {
        const mutex = new Mutex(client, key.slice('mutex:'.length), {
          lockTimeout: ttlMs,
          refreshInterval: 0,
        })
        return (await mutex.tryAcquire()) ? () => mutex.release() : null
      },
    },
    'a script written by hand': {
      prefix: 'lock:',
      tryTake: async (key, ttlMs) => {
        const id = `worker-${++ids}`
        const taken = await client.set(key, id, 'PX', ttlMs, 'NX')
        return taken === null ? null : () => client.eval(RELEASE, 1, key, id)
      },
    },
  }
}
