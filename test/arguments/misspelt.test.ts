import { connect, createLocks, InvalidArgumentError, idempotent, locked } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { fencingToken, memoryGuard, redisGuard, updateFencedMysql, updateFencedPg } from 'holdfast/guard'
import { idempotencyKey, idempotencyKeyFastify, idempotencyKeyHono, idempotentHandler } from 'holdfast/http'
import { memory } from 'holdfast/memory'
import { mysql } from 'holdfast/mysql'
import { HoldfastModule, Idempotent, Locked } from 'holdfast/nestjs'
import { Collector, observe } from 'holdfast/observe'
import { opentelemetry } from 'holdfast/opentelemetry'
import { postgres } from 'holdfast/postgres'
import { quorum } from 'holdfast/quorum'
import { redis, transaction } from 'holdfast/redis'
import { sqlite } from 'holdfast/sqlite'
import { faulty, runConformance } from 'holdfast/testing'
import { zookeeper } from 'holdfast/zookeeper'
import { afterAll, describe, expect, test } from 'vitest'

const locks = createLocks()
afterAll(() => locks.close())

const work = async () => 'done'
const listener = () => {}
const any = {} as never
const endpoints = ['127.0.0.1:1']
const update = { table: 't', where: { id: 1 }, set: {}, token: 1n }

/** The options' name, the misspelt name, the right name, and the call. */
const CALLS: readonly [string, string, string, (options: never) => unknown][] = [
  ['createLocks', 'tll', 'ttl', (options) => createLocks(options)],
  ['createLocks', 'perfix', 'prefix', (options) => createLocks(options)],
  ['connect', 'wiat', 'wait', (options) => connect('memory:', options)],
  ['using', 'tll', 'ttl', (options) => locks.using('a', options, work)],
  ['acquire', 'wiat', 'wait', (options) => locks.acquire('a', options)],
  ['tryAcquire', 'maxhold', 'maxHold', (options) => locks.tryAcquire('a', options)],
  ['mutex', 'reentrent', 'reentrant', (options) => locks.mutex('a', options)],
  ['a mutex', 'tll', 'ttl', (options) => locks.mutex('a').using(options, work)],
  ['rw', 'wiat', 'wait', (options) => locks.rw('a', options)],
  ['a writer', 'wiat', 'wait', (options) => locks.rw('a').write.acquire(options)],
  ['semaphore', 'weigth', 'weight', (options) => locks.semaphore('a', withLimit(options))],
  ['a semaphore', 'weigth', 'weight', (options) => locks.semaphore('a', { limit: 2 }).acquire(options)],
  [
    'retry',
    'jiter',
    'jitter',
    (options) => locks.acquire('a', { retry: { spin: 5, ...(options as object) } }),
  ],
  ['all', 'singal', 'signal', (options) => locks.all(['a'], options)],
  ['within', 'wiat', 'wait', (options) => locks.within(any, 'a', options, work)],
  ['adopt', 'singal', 'signal', (options) => adopt(options)],
  ['list', 'perfix', 'prefix', (options) => locks.list(options)],
  ['evict', 'aks', 'ask', (options) => locks.evict('a', options)],
  ['once', 'onDuplciate', 'onDuplicate', (options) => locks.once('a', options, work)],
  ['idempotent', 'tll', 'ttl', (options) => locks.idempotent(() => 'a', work, options)],
  ['update', 'treis', 'tries', (options) => locks.update('a', work, options)],
  ['inventory', 'perBuyr', 'perBuyer', (options) => locks.inventory('a', options)],
  ['stock', 'tll', 'ttl', (options) => locks.inventory('a').stock(1, options)],
  ['add', 'requets', 'request', (options) => locks.inventory('a').add(1, options)],
  ['take', 'requets', 'request', (options) => locks.inventory('a').take('b', options)],
  ['striped', 'wiat', 'wait', (options) => locks.striped('a', 2, options)],
  ['any', 'wiat', 'wait', (options) => locks.striped('a', 2).any(options, work)],
  ['cached', 'tll', 'ttl', (options) => locks.cached('a', options, work)],
  ['job', 'atleast', 'atLeast', (options) => locks.job('a', options, work)],
  ['election', 'tll', 'ttl', (options) => locks.election('a', options)],
  ['lead', 'singal', 'signal', (options) => locks.election('a').lead(work, options)],
  ['observe of an election', 'evry', 'every', (options) => locks.election('a').observe(options)],
  ['doctor', 'forein', 'foreign', (options) => locks.doctor(options)],
  ['reap', 'removed', 'remove', (options) => locks.reap(options)],
  ['@locked', 'tll', 'ttl', (options) => locked(locks, 'a', options)],
  ['@idempotent', 'tll', 'ttl', (options) => idempotent(locks, () => 'a', options)],
  ['@Locked', 'tll', 'ttl', (options) => Locked('a', options)],
  ['@Idempotent', 'onDuplciate', 'onDuplicate', (options) => Idempotent(() => 'a', options)],
  ['memory', 'wrold', 'world', (options) => memory(options)],
  ['sqlite', 'pth', 'path', (options) => sqlite(options)],
  ['postgres', 'tabel', 'table', (options) => postgres(any, options)],
  ['mysql', 'tabel', 'table', (options) => mysql(any, options)],
  ['redis', 'fromat', 'format', (options) => redis(any, options)],
  [
    'replicas',
    'timeuot',
    'timeout',
    (options) => redis(any, { replicas: { wait: 1, ...(options as object) } }),
  ],
  ['transaction', 'treis', 'tries', (options) => transaction(any, ['a'], work, options)],
  ['quorum', 'nodeTimeout', 'nodeTimeoutMs', (options) => quorum([any], options)],
  ['etcd', 'endpoint', 'endpoints', (options) => etcd(options)],
  ['tls of etcd', 'crt', 'cert', (tls) => etcd({ endpoints, tls })],
  ['zookeeper', 'runtme', 'runtime', (options) => zookeeper('zookeeper://127.0.0.1', options)],
  ['tls of zookeeper', 'crt', 'cert', (tls) => zookeeper('zookeeper://127.0.0.1', { tls })],
  ['observe', 'onalarm', 'onAlarm', (options) => observe(locks, options)],
  ['rules', 'timouts', 'timeouts', (rules) => observe(locks, { rules, onAlarm: work })],
  [
    'webhook',
    'tris',
    'tries',
    (webhook) => observe(locks, { webhook: { url: 'http://a', ...(webhook as object) } }),
  ],
  ['Collector', 'maxPattern', 'maxPatterns', (options) => new Collector(options)],
  ['opentelemetry', 'tracr', 'tracer', (options) => opentelemetry(observe(locks), options)],
  ['memoryGuard', 'maxResource', 'maxResources', (options) => memoryGuard(options)],
  ['redisGuard', 'tlMs', 'ttlMs', (options) => redisGuard({ call: work }).set('a', 'b', 1n, options)],
  ['fencingToken', 'requird', 'required', (options) => fencingToken(memoryGuard(), options)],
  [
    'updateFencedPg',
    'fenc',
    'fence',
    (options) => updateFencedPg({ query: work as never }, { ...update, ...(options as object) }),
  ],
  [
    'updateFencedMysql',
    'fenc',
    'fence',
    (options) => updateFencedMysql({ execute: work as never }, { ...update, ...(options as object) }),
  ],
  ['idempotencyKey', 'requird', 'required', (options) => idempotencyKey(locks, options)],
  ['idempotentHandler', 'maxBodyByte', 'maxBodyBytes', (options) => idempotentHandler(locks, work, options)],
  ['idempotencyKeyHono', 'scpe', 'scope', (options) => idempotencyKeyHono(locks, options)],
  [
    'idempotencyKeyFastify',
    'method',
    'methods',
    (options) => idempotencyKeyFastify({ addHook: work }, locks, options),
  ],
  ['forRootAsync', 'useFatory', 'useFactory', (options) => HoldfastModule.forRootAsync(options)],
  [
    'runConformance',
    'concurency',
    'concurrency',
    (options) => runConformance({ name: 'a', open: any }, options),
  ],
]

describe('a misspelt option is refused, and the message names the right one', () => {
  test.each(CALLS)('%s: %s, not %s', async (_, given, meant, call) => {
    const error = await errorOf(() => call({ [given]: undefined } as never))
    expect(error).toBeInstanceOf(InvalidArgumentError)
    expect(error.message).toContain(`unknown option "${given}": did you mean "${meant}"?`)
  })

  test('nothing was taken or evicted by any of them', async () => {
    const { holders } = await locks.read('a')
    expect({ holders, local: locks.local() }).toEqual({ holders: [], local: { held: 0, waiting: 0 } })
  })
})

test('a name that is like no other is refused with the ones that there are', async () => {
  const error = await errorOf(() => locks.evict('a', { force: true } as never))
  expect(error).toMatchObject({ argument: 'options', code: 'INVALID_ARGUMENT' })
  expect(error.message).toBe('options has an unknown option "force": it may be one of token, ask, by')
})

test('names that every object inherits are no options', async () => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    const options = JSON.parse(`{"${name}": 1}`)
    expect((await errorOf(() => locks.acquire('a', options))).message).toContain(`unknown option "${name}"`)
  }
})

test('an option that is there and undefined is as one that is left out', async () => {
  const options = { ttl: undefined, wait: undefined, signal: undefined, meta: undefined } as never
  await using lease = await locks.acquire('undefined', options)
  expect(lease.held).toBe(true)
})

test('a misspelt option of evict evicts no holder', async () => {
  await using lease = await locks.acquire('evicted')
  await errorOf(() => locks.evict('evicted', { aks: true } as never))
  await errorOf(() => locks.evict('evicted', { ask: 'yes' } as never))
  // A store without ordered tokens gives null: nobody may be evicted because of that.
  await errorOf(() => locks.evict('evicted', { token: null } as never))
  expect((await locks.read('evicted')).holders).toHaveLength(1)
  expect(lease.held).toBe(true)
})

test('a URL is not taken for options, and a store is not made of anything', async () => {
  const url = await errorOf(() => createLocks('redis://localhost' as never))
  expect(url.message).toBe('options must be an object, not a URL: use `await connect(url)`')
  for (const store of [null, {}, 'redis://localhost', { traits: {} }, memory, locks])
    expect(await errorOf(() => createLocks({ store: store as never }))).toMatchObject({ argument: 'store' })
  const both = { store: memory() } as never
  expect(await errorOf(() => connect('memory:', both))).toMatchObject({ argument: 'store' })
  expect(await errorOf(() => faulty({} as never))).toMatchObject({ argument: 'store' })
})

test('an event that does not exist is refused where it is listened for', async () => {
  const bogus = await errorOf(() => locks.on('grantd' as never, listener))
  expect(bogus).toMatchObject({ argument: 'event' })
  expect(bogus.message).toBe('event has an unknown name "grantd": did you mean "granted"?')
  await using lease = await locks.acquire('events')
  await using group = await locks.all(['one', 'other'])
  for (const source of [lease, group, locks.election('events')])
    expect(await errorOf(() => source.on('revokd' as never, listener))).toMatchObject({ argument: 'event' })
  expect(await errorOf(() => locks.on('lost', 5 as never))).toMatchObject({ argument: 'listener' })
})

test('a lease that another process wrote is read with care', async () => {
  const lease = await locks.acquire('adopted')
  const json = JSON.parse(JSON.stringify(lease))
  for (const [argument, change] of [
    ['lease.id', { id: 5 }],
    ['lease.key', { key: undefined }],
    ['lease.mode', { mode: 'exclusiv' }],
    ['ttl', { ttlMs: 'soon' }],
    ['limit', { mode: 'permits', limit: 0 }],
    ['owner', { owner: 7 }],
  ] as const)
    expect(await errorOf(() => locks.adopt({ ...json, ...change }))).toMatchObject({ argument })
  // A later version may write more.
  await using adopted = await locks.adopt({ ...json, later: 1 })
  expect(adopted.held).toBe(true)
})

function withLimit(options: object): { limit: number } {
  return { limit: 2, ...options }
}

async function adopt(options: object): Promise<unknown> {
  return locks.adopt({ key: 'a', id: 'i', token: null, mode: 'exclusive', ttlMs: 100 }, options)
}

/** The error of a call: at once, later, or when its result is iterated. */
async function errorOf(call: () => unknown): Promise<Error> {
  try {
    const result = (await call()) as AsyncIterable<unknown> | null | undefined
    if (typeof result?.[Symbol.asyncIterator] === 'function') for await (const _ of result) break
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
