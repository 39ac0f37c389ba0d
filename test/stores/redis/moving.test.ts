import { createLocks, type Locks, type Store } from 'holdfast'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startCluster } from '../../../scripts/servers/cluster.ts'
import { startSentinels } from '../../../scripts/servers/sentinel.ts'
import { slotOf } from '../../../src/stores/redis/cluster/slots.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { CLUSTER_CLIENTS, openClusterStore } from './cluster-clients.ts'
import { openSentinelStore, SENTINEL_CLIENTS } from './sentinel-clients.ts'

const KEY = 'waited for'
const SLOT = slotOf(lockName(KEY))
/** From the release on; whoever hears nothing looks by itself. */
const GRANTED_MS = 8000

const [cluster, group] = await Promise.all([startCluster(), startSentinels()])
let opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  opened = []
})
afterAll(() => Promise.all([cluster.stop(), group.stop()]))

const CHANGES = {
  'its slot moves to another master': async () => {
    const owner = await cluster.ownerOf(SLOT)
    const other = (await cluster.masters()).find((node) => node !== owner)
    await cluster.migrate(SLOT, other as NonNullable<typeof other>)
  },
  'the replica of its master takes over': async () => {
    await cluster.failOver(await cluster.ownerOf(SLOT))
    await cluster.settle()
  },
  'its master crashes': async () => {
    const owner = await cluster.ownerOf(SLOT)
    await cluster.crash(owner)
    await owner.server.start()
    await cluster.settle()
  },
}

/** The lease is far from its end while the servers change, so only its release lets the waiter in. */
async function grantedAfter(open: () => Promise<{ store: Store }>, change: () => Promise<void>) {
  const [holder, waiter] = (await Promise.all(
    [0, 1].map(async () => {
      const { store } = await open()
      const locks = createLocks({ store, ttl: 60_000, wait: 60_000, callTimeout: 1000 })
      opened.push(locks)
      return locks
    }),
  )) as [Locks, Locks]
  const lease = await holder.acquire(KEY)
  const waiting = waiter.acquire(KEY)
  await expect.poll(async () => (await holder.read(KEY)).queue.length).toBe(1)
  await change()
  const releasedAtMs = performance.now()
  // A release whose answer is lost is tried again behind the caller's back.
  await lease.release().catch((error) => expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' }))
  const next = await waiting
  expect(next.token).toBeGreaterThan(lease.token as bigint)
  expect(performance.now() - releasedAtMs).toBeLessThan(GRANTED_MS)
  await next.release()
}

describe.each(['ioredis 5', 'redis 6'] as const)('a waiter over %s is granted in time', (client) => {
  it.each(Object.entries(CHANGES))(
    'although %s',
    async (_, change) => {
      await grantedAfter(() => openClusterStore(CLUSTER_CLIENTS[client], cluster), change)
    },
    60_000,
  )

  it('although the sentinels replace the master', async () => {
    const open = () => openSentinelStore(SENTINEL_CLIENTS[client], group, { replicas: { wait: 2 } })
    await grantedAfter(open, async () => {
      const before = await group.master()
      const master = await group.failOver()
      await group.operator(before).call('REPLICAOF', ['127.0.0.1', String(master.port)])
      await group.settle()
    })
  }, 60_000)
})
