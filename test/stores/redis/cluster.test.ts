import { connect, createLocks, type Locks } from 'holdfast'
import type { RedisOptions } from 'holdfast/redis'
import { afterAll, afterEach, expect, it } from 'vitest'
import { startCluster } from '../../../scripts/servers/cluster.ts'
import { slotOf } from '../../../src/stores/redis/cluster/slots.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { CLUSTER_CLIENTS, openClusterStore } from './cluster-clients.ts'
import { Overlaps, sleep, Workers } from './load.ts'
import { conformsThroughout } from './throughout.ts'

const CLIENTS = ['ioredis 5', 'redis 6'] as const
const TTL_MS = 1000
const RECOVERY_MS = 8000
const SHARED = 'shared by all'
const SLOT = slotOf(lockName(SHARED))

const cluster = await startCluster()
let opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  opened = []
})
afterAll(() => cluster.stop())

async function open(client: keyof typeof CLUSTER_CLIENTS, options: RedisOptions = {}): Promise<Locks> {
  const { store } = await openClusterStore(CLUSTER_CLIENTS[client], cluster, options)
  const locks = createLocks({ store, ttl: TTL_MS, wait: 20_000, callTimeout: 500 })
  opened.push(locks)
  return locks
}

/** Processes with both clients: workers on one key, on keys that share its slot, and on keys of their own. */
async function startWorkers(overlaps: Overlaps, options: RedisOptions = {}): Promise<Workers> {
  const workers = new Workers(overlaps)
  for (const client of CLIENTS)
    for (let process = 0; process < 2; process++) {
      const locks = await open(client, options)
      workers.start(locks, SHARED)
      workers.start(locks, SHARED)
      workers.start(locks, `{${SHARED}} ${client} ${process}`)
      workers.start(locks, `alone with ${client} ${process}`)
    }
  await workers.recover(RECOVERY_MS)
  return workers
}

it('gives nobody a lease twice while a slot moves to and fro', async () => {
  const workers = await startWorkers(new Overlaps())
  for (let round = 0; round < 4; round++) {
    const owner = await cluster.ownerOf(SLOT)
    const other = (await cluster.masters()).find((node) => node !== owner)
    await cluster.migrate(SLOT, other as NonNullable<typeof other>, 30)
    await workers.recover(RECOVERY_MS)
  }
  await workers.end()
})

it('gives nobody a lease twice when a replica takes over in good order', async () => {
  const workers = await startWorkers(new Overlaps())
  for (let round = 0; round < 2; round++) {
    await cluster.failOver(await cluster.ownerOf(SLOT))
    await cluster.settle()
    await workers.recover(RECOVERY_MS)
  }
  await workers.end()
})

it('gives nobody a lease twice when a master is killed and its replica was waited for', async () => {
  const workers = await startWorkers(new Overlaps(), { replicas: { wait: 1, timeout: 300 } })
  const owner = await cluster.ownerOf(SLOT)
  await sleep(200)
  await cluster.crash(owner)
  await owner.server.start()
  await cluster.settle()
  await workers.recover(RECOVERY_MS)
  await workers.end()
})

it('goes on after a master was killed, with higher tokens', async () => {
  const overlaps = new Overlaps()
  const workers = await startWorkers(overlaps)
  const owner = await cluster.ownerOf(SLOT)
  await cluster.crash(owner)
  const { highest } = overlaps
  await workers.recover(RECOVERY_MS)
  // The last grants may not have been replicated, so that two leases may have met; tokens still rise.
  await workers.end({ overlapsAllowed: true })
  const lease = await (opened[0] as Locks).acquire(SHARED)
  expect(lease.token).toBeGreaterThan(highest)
  await owner.server.start()
  await cluster.settle()
})

it('gives a higher token after a failover that lost the key', async () => {
  const all = await Promise.all(CLIENTS.map((client) => open(client)))
  const before = await cluster.ownerOf(SLOT)
  const replica = await cluster.replicaOf(before)
  // A password that the master does not ask for keeps its replica from coming back.
  await replica.operator.config('SET', 'masterauth', 'wrong')
  await before.operator.call('CLIENT', ['KILL', 'TYPE', 'replica'])
  const key = `{${SHARED}} lost`
  let highest = 0n
  for (const locks of [...all, ...all]) highest = await locks.using(key, async ({ token }) => token as bigint)
  await before.server.kill()
  await replica.operator.config('SET', 'masterauth', '')
  await replica.operator.call('CLUSTER', ['FAILOVER', 'TAKEOVER'])
  await expect.poll(async () => ((await replica.operator.role()) as string[])[0]).toBe('master')
  expect(await replica.operator.keys('*lost*')).toEqual([])
  for (const locks of all) {
    const next = await locks.using(key, async ({ token }) => token as bigint)
    expect(next).toBeGreaterThan(highest)
    highest = next
  }
  await before.server.start()
  await cluster.settle()
})

for (const client of CLIENTS) {
  const opening = () => openClusterStore(CLUSTER_CLIENTS[client], cluster)

  conformsThroughout(`forced failovers of all masters with ${client}`, opening, async () => {
    for (const master of await cluster.masters()) await cluster.failOver(master)
    await cluster.settle()
  })

  conformsThroughout(`moves of every slot in use with ${client}`, opening, async () => {
    const masters = await cluster.masters()
    const moves = masters.map(async ({ operator }, index) => {
      const slots = new Set((await operator.keys('*')).map(slotOf))
      return { slots, to: masters[(index + 1) % masters.length] as (typeof masters)[number] }
    })
    for (const { slots, to } of await Promise.all(moves))
      for (const slot of slots) await cluster.migrate(slot, to)
  })
}

it('is found by its URL', async () => {
  const [locks, other] = [await connect(cluster.url), await connect(`${cluster.url}?check=off&replicas=1`)]
  opened.push(locks, other)
  const lease = await locks.acquire('by url')
  expect(await other.tryAcquire('by url')).toBeNull()
  await lease.release()
  expect(await other.using('by url', async ({ token }) => typeof token)).toBe('bigint')
})
