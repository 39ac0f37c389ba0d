import type { Election, Inventory, Lease, Locks, Mutex, Striped } from 'holdfast'

/** Lists of arguments that make sense, one for each way to call a function. */
export type Ways = readonly (readonly unknown[])[]

type Methods<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T]
/** The compiler keeps the table of an object complete. */
export type Table<T> = Readonly<Record<Extract<Methods<T>, string>, Ways>>

const work = () => 1

export const LOCKS: Table<Locks> = {
  using: [
    ['a', work],
    ['a', {}, work],
  ],
  acquire: [['a', {}]],
  tryAcquire: [['a', {}]],
  mutex: [['a', {}]],
  rw: [['a', {}]],
  semaphore: [['a', { limit: 1 }]],
  all: [[['a', 'b'], {}]],
  within: [
    [{}, 'a', work],
    [{}, 'a', {}, work],
  ],
  adopt: [[{ key: 'a', id: 'i', token: null, mode: 'exclusive', ttlMs: 1000 }, {}]],
  read: [['a']],
  list: [[{ prefix: 'a' }]],
  evict: [['a', {}]],
  evictions: [['a']],
  on: [['granted', work]],
  meter: [[{ granted: () => ({ released: work }) }]],
  local: [[]],
  close: [[]],
  once: [
    ['a', work],
    ['a', {}, work],
  ],
  idempotent: [[() => 'a', work, {}]],
  update: [['a', work, {}]],
  inventory: [['a', {}]],
  striped: [['a', 2, {}]],
  cached: [['a', { ttl: 1000 }, work]],
  job: [
    ['a', work],
    ['a', {}, work],
  ],
  election: [['a', {}]],
  doctor: [[{ watch: 0 }]],
  reap: [[{}]],
  deadlocks: [[]],
}

export const LEASE: Table<Lease> = {
  remainingMs: [[]],
  extend: [[1000]],
  release: [[]],
  assertHeld: [[]],
  on: [['revoked', work]],
  toJSON: [[]],
}

export const MUTEX: Table<Mutex> = {
  using: [[work], [{}, work]],
  acquire: [[{}]],
  tryAcquire: [[{}]],
}

export const STRIPED: Table<Striped> = { for: [['a']], any: [[work], [{}, work]] }

export const ELECTION: Table<Election> = {
  lead: [[work, {}]],
  resign: [[]],
  leader: [[]],
  observe: [[{ every: 10 }]],
  on: [['elected', work]],
}

export const INVENTORY: Table<Inventory> = {
  stock: [[1, {}]],
  add: [[1, { request: 'r' }]],
  take: [['buyer', {}]],
  confirm: [['0.r']],
  giveBack: [['0.r']],
  remaining: [[]],
  sold: [[]],
  held: [[]],
}
