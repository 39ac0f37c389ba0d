import type { AnyRedisClient } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { CURRENT, type Library, older } from '../library.ts'
import { OLDER_NAMES, OLDER_PREFIX, olderEntry } from '../older.ts'
import { load } from '../redis/load.ts'
import type { Redlock4Constructor, Redlock5Constructor } from '../redis/peer-shapes.ts'
import { TTL_MS } from '../redis/subject.ts'
import { bareVotes } from './bare.ts'

type Run = (key: string, work: () => Promise<void>) => Promise<void>

export interface QuorumSubject {
  readonly run: Run
  close(): Promise<void>
}

interface Parts {
  readonly run: Run
  readonly close?: () => Promise<void>
}

interface RedlockMutexModule {
  RedlockMutex: new (
    clients: readonly object[],
    key: string,
    options: object,
  ) => { acquire(): Promise<void>; release(): Promise<void> }
}

interface UniversalModule {
  IoredisAdapter: new (client: object) => object
  createRedlock(options: object): { acquire(): Promise<object>; release(handle: object): Promise<boolean> }
}

export const OURS = 'holdfast'
/** The least that counting votes takes. */
export const BARE = 'bare votes'
/** Ours over servers of which none is away. */
export const ALL_WELL = 'holdfast, all five well'
/** Without it most of the others would wait for a stopped server for ever. */
const COMMAND_TIMEOUT_MS = 200

/** Every library as it comes, over clients as they come, one for each server. */
const OPENERS: Readonly<Record<string, (clients: readonly Redis[]) => Promise<Parts> | Parts>> = {
  [OURS]: (clients) => ours(CURRENT, clients),
  ...olderEntry(async (clients: readonly Redis[]) => ours(await older(), clients, OLDER_PREFIX)),
  'redlock 4': redlock4,
  'redlock 5': async (clients) =>
    redlock5((await load<{ default: Redlock5Constructor }>('redlock5')).default, clients),
  '@sesamecare-oss/redlock': async (clients) =>
    redlock5((await load<{ Redlock: Redlock5Constructor }>('@sesamecare-oss/redlock')).Redlock, clients),
  'redlock-universal': universal,
  'redis-semaphore': redisSemaphore,
  [BARE]: async (clients) => ({ run: await bareVotes(clients) }),
}

export const PEERS = Object.keys(OPENERS).filter((name) => ![OURS, BARE, ...OLDER_NAMES].includes(name))

export async function openSubject(name: string, urls: readonly string[]): Promise<QuorumSubject> {
  const clients = urls.map((url) => {
    const client = new Redis(url, { commandTimeout: COMMAND_TIMEOUT_MS })
    client.on('error', () => {})
    return client
  })
  const opener = OPENERS[name]
  if (opener === undefined) throw new Error(`no subject is called ${name}`)
  const { run, close } = await opener(clients)
  return {
    run,
    async close() {
      await close?.()
      for (const client of clients) client.disconnect()
    },
  }
}

function ours({ createLocks, quorum }: Library, clients: readonly Redis[], prefix = ''): Parts {
  const store = quorum(clients as unknown as readonly AnyRedisClient[])
  const locks = createLocks({ store, prefix, ttl: TTL_MS })
  return {
    run: (key, work) =>
      locks.using(key, (lease) => {
        if (lease.token === null) throw new Error('the lease has no fencing token')
        return work()
      }),
    close: () => locks.close(),
  }
}

async function redlock4(clients: readonly Redis[]): Promise<Parts> {
  const { default: Redlock } = await load<{ default: Redlock4Constructor }>('redlock4')
  const redlock = new Redlock(clients, {})
  return {
    async run(key, work) {
      const lock = await redlock.lock(key, TTL_MS)
      await work()
      await lock.unlock()
    },
  }
}

function redlock5(Redlock: Redlock5Constructor, clients: readonly Redis[]): Parts {
  const redlock = new Redlock(clients, {})
  redlock.on('error', () => {})
  return {
    async run(key, work) {
      const lock = await redlock.acquire([key], TTL_MS)
      await work()
      await lock.release()
    },
  }
}

async function universal(clients: readonly Redis[]): Promise<Parts> {
  const { IoredisAdapter, createRedlock } = await load<UniversalModule>('redlock-universal')
  const adapters = clients.map((client) => new IoredisAdapter(client))
  return {
    async run(key, work) {
      const lock = createRedlock({ adapters, key, ttl: TTL_MS })
      const handle = await lock.acquire()
      await work()
      await lock.release(handle)
    },
  }
}

async function redisSemaphore(clients: readonly Redis[]): Promise<Parts> {
  const { RedlockMutex } = await load<RedlockMutexModule>('redis-semaphore')
  return {
    async run(key, work) {
      const mutex = new RedlockMutex(clients, key, { lockTimeout: TTL_MS })
      await mutex.acquire()
      await work()
      await mutex.release()
    },
  }
}
