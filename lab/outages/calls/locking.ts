import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Lease } from 'holdfast'
import { CALL_TIMEOUT_MS, HOLD_MS, QUEUE_WAIT_MS, TTL_MS, WAIT_MS } from '../settings.ts'
import { OPTIONS } from '../world.ts'
import type { Call } from './call.ts'

/** Objects of one process with the same URL and time-out may share connections: this one opens its own. */
const ALONE = { ...OPTIONS, callTimeout: CALL_TIMEOUT_MS - 1 }

/** The calls that take, keep and let go of locks. */
export const LOCKING: readonly Call[] = [
  {
    name: 'connect',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    byUrl: true,
    async prepare({ url }) {
      return async () => {
        const locks = await connect(url as string, ALONE)
        void locks.close().catch(() => {})
        return 'connected'
      }
    },
  },
  {
    name: 'acquire, wait 0',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      return () => locks.acquire(key, { wait: 0 }).then(() => 'granted')
    },
  },
  {
    name: 'acquire, wait',
    boundMs: WAIT_MS + CALL_TIMEOUT_MS,
    bound: 'wait + callTimeout',
    prepare: async ({ locks, key }) => {
      return () => locks.acquire(key, { wait: WAIT_MS }).then(() => 'granted')
    },
  },
  {
    name: 'acquire, in the queue',
    pair: true,
    boundMs: QUEUE_WAIT_MS + CALL_TIMEOUT_MS,
    bound: 'wait + callTimeout',
    async prepare({ locks, other, key }) {
      await other.acquire(key)
      const waiting = locks.acquire(key, { wait: QUEUE_WAIT_MS }).then(() => 'granted')
      waiting.catch(() => {})
      // A busy server may be slower than a call may last.
      const inQueue = () =>
        other.read(key).then(
          ({ queue }) => queue.length > 0,
          () => false,
        )
      while (!(await inQueue())) await sleep(5)
      return () => waiting
    },
  },
  {
    name: 'all',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      return () => locks.all([key, `${key}:2`], { wait: 0 }).then(() => 'granted')
    },
  },
  {
    name: 'semaphore',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      if (!locks.traits.modes.includes('permits')) return null
      return () =>
        locks
          .semaphore(key, { limit: 3 })
          .acquire({ wait: 0 })
          .then(() => 'granted')
    },
  },
  {
    name: 'signal of a lease',
    boundMs: HOLD_MS,
    bound: 'ttl: lost, or still held after 1.5 ttl',
    async prepare({ locks, key }) {
      const lease = await locks.acquire(key)
      return () => fate(lease)
    },
  },
  {
    name: 'using',
    boundMs: HOLD_MS + 2 * CALL_TIMEOUT_MS,
    bound: 'the work + 2 callTimeout',
    async prepare({ locks, key }) {
      let begun = () => {}
      const began = new Promise<void>((resolve) => {
        begun = resolve
      })
      const done = locks.using(key, async (lease) => {
        begun()
        return await fate(lease)
      })
      done.catch(() => {})
      await Promise.race([began, done])
      return () => done
    },
  },
  {
    name: 'extend',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    async prepare({ locks, key }) {
      const lease = await locks.acquire(key)
      return () => lease.extend(TTL_MS).then(() => 'renewed')
    },
  },
  {
    name: 'downgrade',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    prepare: async ({ locks, key }) => {
      if (!locks.traits.modes.includes('shared')) return null
      const lease = await locks.rw(key).write.acquire()
      return () => lease.downgrade().then(() => 'reader')
    },
  },
  {
    name: 'release',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    async prepare({ locks, key }) {
      const lease = await locks.acquire(key)
      return () => lease.release()
    },
  },
  {
    name: 'adopt',
    pair: true,
    boundMs: WAIT_MS + CALL_TIMEOUT_MS,
    bound: 'wait + callTimeout',
    prepare: async ({ locks, other, key }) => {
      if (!locks.traits.adoption) return null
      const lease = await other.acquire(key)
      return () => locks.adopt(lease.toJSON()).then(() => 'adopted')
    },
  },
  {
    name: 'within',
    boundMs: WAIT_MS + CALL_TIMEOUT_MS,
    bound: 'wait + callTimeout',
    prepare: async ({ locks, key, begin }) => {
      if (begin === null) return null
      const tx = await begin()
      return () => locks.within(tx, key, { wait: WAIT_MS }, () => 'granted')
    },
  },
  {
    name: 'close',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    async prepare({ locks, key }) {
      await locks.acquire(key)
      return () => locks.close().then(() => 'closed')
    },
  },
]

/** How a lease ends: lost, or held for longer than its ttl. One that is neither has told nobody of its end. */
function fate(lease: Lease): Promise<string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => lease.held && resolve('held'), HOLD_MS)
    lease.signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve('lost')
    })
  })
}
