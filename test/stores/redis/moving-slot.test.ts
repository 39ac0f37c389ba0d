import { createLocks, type Locks } from 'holdfast'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { type ClusterNode, startCluster } from '../../../scripts/servers/cluster.ts'
import type { Claim } from '../../../src/model/index.ts'
import { callBySlot } from '../../../src/stores/redis/cluster/calls.ts'
import { slotOf } from '../../../src/stores/redis/cluster/slots.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { claimOf } from '../sqlite/claims.ts'
import { CLUSTER_CLIENTS, openClusterStore } from './cluster-clients.ts'

const TTL_MS = 3000
/** The slot of these keys moves, and its target hangs or is gone. */
const [MOVED, ABSENT] = ['{moving} moved', '{moving} absent'] as const
const SLOT = slotOf(lockName(MOVED))

// Nobody takes the target's place, and its source goes on without it.
const cluster = await startCluster([
  '--cluster-replica-no-failover',
  'yes',
  '--cluster-require-full-coverage',
  'no',
])
const source = await cluster.ownerOf(SLOT)
const target = (await cluster.masters()).find((node) => node !== source) as ClusterNode
const settle: (() => unknown)[] = []

beforeEach(async () => {
  await target.operator.call('CLUSTER', ['SETSLOT', String(SLOT), 'IMPORTING', source.id])
  await source.operator.call('CLUSTER', ['SETSLOT', String(SLOT), 'MIGRATING', target.id])
  settle.push(async () => {
    for (const { operator } of [source, target])
      await operator.call('CLUSTER', ['SETSLOT', String(SLOT), 'STABLE'])
    await target.operator.flushall()
  })
})
afterEach(async () => {
  for (const task of settle.splice(0).reverse()) await task()
})
afterAll(() => cluster.stop())

/** Keys of other slots of the same server. */
async function neighbours(count: number): Promise<string[]> {
  const ranges = await source.operator.cluster('SLOTS')
  const [from, to] = ranges.find(([, , master]) => master?.[1] === source.server.port) ?? expect.fail()
  const keys = Array.from({ length: count * 10 }, (_, number) => `neighbour ${number}`)
  const own = keys.filter((key) => {
    const slot = slotOf(lockName(key))
    return from <= slot && slot <= to && slot !== SLOT
  })
  expect(own.length).toBeGreaterThanOrEqual(count)
  return own.slice(0, count)
}

async function openStore() {
  const { store } = await openClusterStore(CLUSTER_CLIENTS['ioredis 5'], cluster)
  settle.push(() => store.close())
  return store
}

async function open(): Promise<Locks> {
  const locks = createLocks({ store: await openStore(), ttl: TTL_MS, callTimeout: 1000 })
  settle.push(() => locks.close())
  return locks
}

async function move(key: string): Promise<void> {
  const names = await source.operator.keys(`${lockName(key)}*`)
  const to = ['127.0.0.1', String(target.server.port), '', '0', '5000']
  await source.operator.call('MIGRATE', [...to, 'KEYS', ...names])
}

function freezeTarget(): void {
  process.kill(target.server.pid, 'SIGSTOP')
  settle.push(() => process.kill(target.server.pid, 'SIGCONT'))
}

it('a slot that hangs while it moves costs other slots of its server neither a lease nor a claim', async () => {
  const locks = await open()
  const [free, ...keys] = (await neighbours(31)) as [string, ...string[]]
  const lost: string[] = []
  locks.on('lost', ({ key }) => lost.push(key))
  const leases = await Promise.all([MOVED, ...keys].map((key) => locks.acquire(key)))
  await move(MOVED)
  freezeTarget()
  const claims = [ABSENT, free].map((key) => locks.acquire(key, { wait: 0 }))
  expect(await Promise.allSettled(claims)).toMatchObject([
    { status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } },
    { status: 'fulfilled' },
  ])
  await expect.poll(() => lost, { timeout: 3 * TTL_MS }).toEqual([MOVED])
  // As long again: a renewal in company of the slot that hangs would have ended some of them by now.
  await new Promise((resolve) => setTimeout(resolve, TTL_MS))
  expect(lost).toEqual([MOVED])
  const others = leases.slice(1)
  expect(await Promise.all(others.map((lease) => lease.release()))).toEqual(others.map(() => 'released'))
})

it('a slot that fails leaves the others of its call their answers', async () => {
  const store = await openStore()
  const [free] = (await neighbours(1)) as [string]
  const claims = [ABSENT, free].map((key) => claimOf(key))
  await target.server.kill()
  settle.push(() => target.server.start())
  expect(await store.attempt(claims)).toMatchObject([{ kind: 'unknown' }, { kind: 'granted' }])
  expect(await store.renew(claims)).toMatchObject([{ kind: 'unknown' }, { kind: 'renewed' }])
  expect(await store.release(claims)).toMatchObject([{ kind: 'unknown' }, { kind: 'released' }])
  // A call that nobody answers has failed as a whole.
  await expect(store.attempt([claimOf(ABSENT), claimOf(ABSENT)])).rejects.toThrow()
})

it('a key that fails leaves the others of its torn slot their answers', async () => {
  const send = async (claims: readonly Claim[]) => {
    if (claims.length > 1) throw new Error('TRYAGAIN Multiple keys request during rehashing of slot')
    if (claims[0]?.key === ABSENT) throw new Error('the server that has it is gone')
    return [{ kind: 'renewed', contended: false } as const]
  }
  const routes = { slotOf: () => SLOT, masters: async () => [] }
  const claims = [MOVED, ABSENT].map((key) => claimOf(key))
  expect(await callBySlot(routes, claims, send, () => expect.fail())).toMatchObject([
    { kind: 'renewed' },
    { kind: 'unknown' },
  ])
})
