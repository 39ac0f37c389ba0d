import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { Collector, observe } from 'holdfast/observe'
import { FakeRuntime } from 'holdfast/testing'

const work = () => 1
const update = { table: 't', where: { id: 1 }, set: { a: 1 }, token: 1n }
const rows = { query: async () => ({ rowCount: 1, rows: [] }) }
const packets = { query: async () => [{ affectedRows: 1 }], execute: async () => [{ affectedRows: 1 }] }
const guard = { check: work }
const registry = { registerMetric: work, removeSingleMetric: work }
const logger = { info: work, warn: work, error: work }
/** Its stores cannot be opened, so that a run of the whole suite is over at once. */
const target = {
  name: 'none',
  open: () => {
    throw new Error('there is no store')
  },
}
const client = () => ({ status: 'ready', call: work, duplicate: work, options: {} })
const locks = () => createLocks({ store: memory() })
const asynchronous = { useFactory: () => ({}) }

type Arguments = () => readonly unknown[]

/** Arguments that make sense, or nearly so, for every function that the package exports, by entry. */
export const EXPORTS: Readonly<Record<string, Readonly<Record<string, Arguments>>>> = {
  '.': {
    connect: () => ['memory:', {}],
    createLocks: () => [{}],
    locked: () => [locks(), 'a', {}],
    idempotent: () => [locks(), work, {}],
  },
  './memory': { memory: () => [{}], memoryWorld: () => [new FakeRuntime()] },
  './sqlite': { sqlite: () => [{ path: '/nowhere/locks.db' }] },
  './postgres': { postgres: () => [{}, {}], migration: () => ['holdfast'] },
  './mysql': { mysql: () => [{}, {}], migration: () => ['holdfast'] },
  './redis': { redis: () => [{}, {}], transaction: () => [client(), ['a'], work, { timeout: 50 }] },
  './etcd': { etcd: () => [{ endpoints: ['127.0.0.1:1'] }] },
  './quorum': { quorum: () => [[{}], {}] },
  './zookeeper': { zookeeper: () => ['zookeeper://127.0.0.1:1', {}] },
  './guard': {
    memoryGuard: () => [{}],
    redisGuard: () => [{ call: work }],
    fencingToken: () => [guard, {}],
    updateFencedPg: () => [rows, update],
    updateFencedMysql: () => [packets, update],
  },
  './http': {
    idempotencyKey: () => [locks(), {}],
    idempotentHandler: () => [locks(), work, {}],
    idempotencyKeyFastify: () => [{ addHook: work }, locks(), {}],
    idempotencyKeyHono: () => [locks(), {}],
  },
  './nestjs': {
    Locked: () => ['a', {}],
    Idempotent: () => [work, {}],
    InjectLocks: () => ['a'],
    locksToken: () => ['a'],
    'HoldfastModule.forRoot': () => [{ name: 'a' }],
    'HoldfastModule.forRootAsync': () => [asynchronous],
  },
  './observe': {
    Collector: () => [{}],

    observe: () => [locks(), {}],
    logTo: () => [locks(), logger],
    keyPattern: () => ['order:42'],
  },
  './prometheus': { prometheus: () => [{ collector: new Collector() }, registry] },
  './opentelemetry': { opentelemetry: () => [observe(locks()), {}] },
  './testing': {
    conformanceCases: () => [target],
    runConformance: () => [target, {}],
    faulty: () => [memory(), new FakeRuntime()],
    FakeRuntime: () => [1],
    Faults: () => [new FakeRuntime()],
    Gate: () => [],
  },
}

/** Made by us and thrown to users, who do not make them. */
export const ERROR_CLASS = /Error$/
