import { CALL_TIMEOUT_MS } from '../settings.ts'
import type { Call } from './call.ts'

/** The calls on records, and those of operators. */
export const OTHERS: readonly Call[] = [
  {
    name: 'update',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    prepare: async ({ locks, key }) => {
      if (locks.records === null) return null
      await locks.update(key, () => 1)
      return () => locks.update<number>(key, (count = 0) => count + 1).then(() => 'written')
    },
  },
  {
    name: 'inventory.take',
    boundMs: 2 * CALL_TIMEOUT_MS,
    bound: '2 callTimeout',
    prepare: async ({ locks, key }) => {
      if (locks.records === null) return null
      const goods = locks.inventory(key)
      await goods.stock(10)
      return () => goods.take('buyer').then(({ kind }) => kind)
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
    name: 'evictions',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks, key }) => {
      return () => locks.evictions(key).then(() => 'read')
    },
  },
  {
    name: 'deadlocks',
    boundMs: CALL_TIMEOUT_MS,
    bound: 'callTimeout',
    prepare: async ({ locks }) => {
      return () => locks.deadlocks().then(() => 'searched')
    },
  },
]
