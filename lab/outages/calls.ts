import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Lease, LockError, type Locks } from 'holdfast'
import { CALL_TIMEOUT_MS, HOLD_MS, QUEUE_WAIT_MS, RECOVERY_MS, TTL_MS, WAIT_MS } from './settings.ts'
import { OPTIONS } from './world.ts'

/** What one call has for itself; made before the fault. */
export interface Stage {
  readonly url: string | null
  readonly key: string
  /** It has talked to the servers. */
  readonly locks: Locks
  /** The same, or for a pair another one, as in another process. */
  readonly other: Locks
  /** Fires when nobody looks at the outcome any more. */
  readonly over: AbortSignal
}

/** One public call: its deadline, and how it is played. */
export interface Call {
  readonly name: string
  readonly boundMs: number
  /** Where the bound comes from. */
  readonly bound: string
  /** Only where callers connect by a URL. */
  readonly byUrl?: boolean
  /** Needs two objects. */
  readonly pair?: boolean
  /** Before the fault; returns what is done during it, which says how it ended. */
  prepare(stage: Stage): Promise<() => Promise<string>>
}

/** Played while a fault lasts. */
export const CALLS: readonly Call[] = [
  {
    name: 'connect',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    byUrl: true,
    async prepare({ url }) {
      return async () => {
        const locks = await connect(url as string, OPTIONS)
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
      while ((await other.read(key)).line.length === 0) await sleep(5)
      return () => waiting
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
    name: 'release',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    async prepare({ locks, key }) {
      const lease = await locks.acquire(key)
      return () => lease.release()
    },
  },
  {
    name: 'read',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      return () => locks.read(key).then(() => 'read')
    },
  },
  {
    name: 'list',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      return async () => {
        for await (const _ of locks.list({ prefix: key }));
        return 'listed'
      }
    },
  },
  {
    name: 'evict',
    pair: true,
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    async prepare({ locks, other, key }) {
      await other.acquire(key)
      return () => locks.evict(key).then((labels) => (labels.length > 0 ? 'evicted' : 'nobody'))
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

/** Counts from the moment at which the store could serve again. */
export const RECOVERY: Call = {
  name: 'recovery',
  boundMs: RECOVERY_MS,
  bound: 'ttl + callTimeout + 3 s',
  async prepare({ locks, key, over }) {
    await locks.acquire(`${key}:kept`)
    return async () => {
      while (!over.aborted) {
        try {
          await locks.acquire(key, { wait: 0 })
          return 'granted'
        } catch (error) {
          if (!(error instanceof LockError)) throw error
        }
        await sleep(20)
      }
      return 'refused'
    }
  },
}

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
