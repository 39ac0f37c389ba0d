import { connect, createLocks, type Locks } from 'holdfast'
import { type RedisOptions, redis } from 'holdfast/redis'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { freePort } from '../../../scripts/servers/ports.ts'
import type { RedisServer } from '../../../scripts/servers/redis.ts'
import { type SentinelGroup, startSentinels } from '../../../scripts/servers/sentinel.ts'
import { Overlaps, sleep, Workers } from './load.ts'
import { openSentinelStore, SENTINEL_CLIENTS } from './sentinel-clients.ts'
import { conformsThroughout } from './throughout.ts'

const CLIENTS = ['ioredis 5', 'redis 6'] as const
const TTL_MS = 1000
/** The sentinels need a second to miss a master, and some time to agree on another. */
const FAILOVER_MS = 8000

let group: SentinelGroup = await startSentinels()
let opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  opened = []
})
afterAll(() => group.stop())

/** A connection of the store, with what its detector of failovers does to it. */
interface Searching {
  readonly status: string
  readonly connector: { disconnect(): void }
  once(event: string, listener: (value?: unknown) => void): unknown
  disconnect(reconnect: boolean): void
  duplicate(options: object): Searching
}

type Name = keyof typeof SENTINEL_CLIENTS

async function open(client: Name, options: RedisOptions = {}): Promise<Locks> {
  const { store } = await openSentinelStore(SENTINEL_CLIENTS[client], group, options)
  const locks = createLocks({ store, ttl: TTL_MS, wait: 20_000, callTimeout: 500 })
  opened.push(locks)
  return locks
}

/** Processes with both clients, with two workers each on one key, and one worker each on a key of its own. */
async function startWorkers(overlaps: Overlaps, options: RedisOptions = {}): Promise<Workers> {
  const workers = new Workers(overlaps)
  for (const client of CLIENTS)
    for (let process = 0; process < 2; process++) {
      const locks = await open(client, options)
      workers.start(locks, 'shared by all')
      workers.start(locks, 'shared by all')
      workers.start(locks, `alone with ${client} ${process}`)
    }
  await workers.recover(FAILOVER_MS)
  return workers
}

/** The sentinels make a master that came back, or was replaced while it ran, a replica; but only after eight seconds. */
async function demote(old: RedisServer): Promise<void> {
  const master = await group.master()
  await group.operator(old).call('REPLICAOF', ['127.0.0.1', String(master.port)])
  await group.settle()
}

it('gives nobody a lease twice in a failover when every replica is waited for', async () => {
  const workers = await startWorkers(new Overlaps(), { replicas: { wait: 2, timeout: 300 } })
  const before = await group.master()
  await sleep(200)
  await group.failOver()
  await demote(before)
  await workers.recover(FAILOVER_MS)
  await workers.end()
})

it('goes on after the master was killed, with higher tokens', async () => {
  const overlaps = new Overlaps()
  const workers = await startWorkers(overlaps)
  await sleep(200)
  const before = await group.master()
  await before.kill()
  await group.untilReplaced(before)
  const highest = overlaps.highest
  await workers.recover(FAILOVER_MS)
  // The last grants may not have been replicated, so that two leases may have met; tokens still rise.
  await workers.end({ overlapsAllowed: true })
  const lease = await (opened[0] as Locks).acquire('shared by all')
  expect(lease.token).toBeGreaterThan(highest)
  await before.start()
  await demote(before)
})

it('gives a higher token after a failover that lost the key', async () => {
  const all = await Promise.all(CLIENTS.map((client) => open(client)))
  const before = await group.master()
  const replicas = await group.replicas()
  // A password that the master does not ask for keeps its replicas from coming back.
  for (const replica of replicas) await group.operator(replica).config('SET', 'masterauth', 'wrong')
  await group.operator(before).call('CLIENT', ['KILL', 'TYPE', 'replica'])
  let highest = 0n
  for (const locks of [...all, ...all])
    highest = await locks.using('lost', async ({ token }) => token as bigint)
  await before.kill()
  for (const replica of replicas) await group.operator(replica).config('SET', 'masterauth', '')
  const after = await group.untilReplaced(before)
  expect(await group.operator(after).keys('*lost*')).toEqual([])
  for (const locks of all) {
    const next = await locks.using('lost', async ({ token }) => token as bigint)
    expect(next).toBeGreaterThan(highest)
    highest = next
  }
  await before.start()
  await demote(before)
})

it('prints nothing about a sentinel that is gone', async () => {
  const printed = vi.spyOn(console, 'error')
  const gone = `127.0.0.1:${await freePort()}`
  const locks = await connect(group.url.replace('//', `//${gone},`))
  opened.push(locks)
  const waiter = await locks.acquire('quiet').then(async (lease) => {
    const next = locks.acquire('quiet')
    await lease.release()
    return next
  })
  await waiter.release()
  // The client also asks the sentinel that is gone whether there are failovers, soon after it has connected.
  await sleep(100)
  expect(printed.mock.calls).toEqual([])
  printed.mockRestore()
})

it('comes back when a failover is told while ioredis asks the sentinels', async () => {
  const { client, close } = await SENTINEL_CLIENTS['ioredis 5'](group, 'told')
  const made: Searching[] = []
  const watch = (original: Searching) => {
    const duplicate = original.duplicate.bind(original)
    original.duplicate = (options) => {
      const copy = watch(duplicate(options))
      made.push(copy)
      return copy
    }
    return original
  }
  watch(client as unknown as Searching)
  const locks = createLocks({ store: redis(client, { check: false }), ttl: TTL_MS, callTimeout: 500 })
  opened.push(locks)
  await locks.using('told', () => {})
  expect(made).toHaveLength(2)
  const ended = made.map(
    (copy) =>
      new Promise((resolve) => {
        copy.once('connecting', () => copy.connector.disconnect())
        copy.once('end', resolve)
        copy.disconnect(true)
      }),
  )
  await Promise.all(ended)
  await expect
    .poll(() => made.map(({ status }) => status), { timeout: FAILOVER_MS })
    .toEqual(['ready', 'ready'])
  await locks.using('told', () => {})
  await close()
})

for (const client of CLIENTS)
  conformsThroughout(
    `forced failovers with ${client}`,
    () => openSentinelStore(SENTINEL_CLIENTS[client], group),
    async () => {
      const before = await group.master()
      // A connection waits for what it has written itself, and with that for all that came before.
      await group.operator(before).set('written', 'last')
      expect(await group.operator(before).wait(2, 5000)).toBe(2)
      await group.failOver()
      await demote(before)
    },
  )

it('is found by its URL, also with passwords', async () => {
  const [locks, other] = [await connect(group.url), await connect(`${group.url}/0?check=off`)]
  opened.push(locks, other)
  const lease = await locks.acquire('by url')
  expect(await other.tryAcquire('by url')).toBeNull()
  await lease.release()
  await group.stop()
  group = await startSentinels({ password: 'pass word', sentinelPassword: 'other secret' })
  const hosts = group.ports.map((port) => `127.0.0.1:${port}`).join(',')
  const url = `redis+sentinel://:pass%20word@${hosts}/${group.service}?sentinelPassword=other%20secret&check=off`
  const guarded = await connect(url)
  opened.push(guarded)
  expect(await guarded.using('key', async ({ token }) => typeof token)).toBe('bigint')
  const wrong = connect(url.replace('word', 'wort'))
  await expect(wrong).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(wrong).rejects.not.toThrow(/wort|secret/)
})
