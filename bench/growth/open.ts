import type { Locks } from 'holdfast'
import type { AnyRedisClient } from 'holdfast/redis'
import { Redis } from 'ioredis'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { CURRENT, type Library, older } from '../library.ts'
import { OLDER, OLDER_PREFIX } from '../older.ts'
import type { Order } from './part.ts'

type Store = ReturnType<Library['memory']>
/** Makes a store for each `Locks` object, and ends what they share. */
type Shared = { readonly store: () => Store; readonly end: () => Promise<unknown> }

export interface Opened {
  readonly locks: readonly Locks[]
  /** How many leases were lost so far. */
  lost(): number
  /** How many waits the store has put in a queue so far. */
  waiting(): number
  close(): Promise<void>
}

/** `Locks` objects as separate processes would have them, but over one client or pool where the store takes one. */
export async function open(order: Order, count: number): Promise<Opened> {
  const isOlder = order.subject === OLDER?.name
  const library = isOlder ? await older() : CURRENT
  const { store, end } = sharedOf(library, order, isOlder)
  let lost = 0
  let waiting = 0
  const locks = Array.from({ length: count }, () => {
    const prefix = isOlder ? OLDER_PREFIX : ''
    const each = library.createLocks({ store: store(), prefix, wait: Number.POSITIVE_INFINITY })
    each.on('lost', () => lost++)
    each.on('waiting', () => waiting++)
    return each
  })
  const close = async (): Promise<void> => {
    await Promise.all(locks.map((each) => each.close()))
    await end()
  }
  return { locks, lost: () => lost, waiting: () => waiting, close }
}

function sharedOf(library: Library, { store, url }: Order, isOlder: boolean): Shared {
  const tables = isOlder ? { table: 'older_build' } : {}
  switch (store) {
    case 'memory': {
      const world = library.memoryWorld()
      return { store: () => library.memory({ world }), end: async () => {} }
    }
    case 'sqlite': {
      const path = url.slice('sqlite:'.length) + (isOlder ? '.older' : '')
      return { store: () => library.sqlite(path), end: async () => {} }
    }
    case 'redis': {
      const client = new Redis(url)
      return { store: () => library.redis(client as unknown as AnyRedisClient), end: () => client.quit() }
    }
    case 'quorum': {
      const hosts = url.slice('redlock://'.length).split(',')
      const clients = hosts.map((host) => new Redis(`redis://${host}`))
      const nodes = clients as unknown as readonly AnyRedisClient[]
      return {
        store: () => library.quorum(nodes),
        end: () => Promise.all(clients.map((client) => client.quit())),
      }
    }
    case 'etcd': {
      const endpoints = url.slice('etcd://'.length).split(',')
      return { store: () => library.etcd({ endpoints }), end: async () => {} }
    }
    case 'zookeeper':
      return { store: () => library.zookeeper(isOlder ? `${url}/older` : url), end: async () => {} }
    case 'postgres': {
      const pool = new pg.Pool({ connectionString: url })
      pool.on('error', () => {})
      return { store: () => library.postgres(pool, tables), end: () => pool.end() }
    }
    case 'mysql': {
      const pool = mysql2.createPool(url)
      return { store: () => library.mysql(pool, tables), end: () => pool.end() }
    }
  }
}
