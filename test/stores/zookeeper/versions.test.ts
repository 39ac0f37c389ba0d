import { connect, type Locks, UnsupportedError } from 'holdfast'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { ZooKeeperClient } from '../../../src/stores/zookeeper/client/client.ts'

const TTL_MS = 1500
const NEWER = '4,something,new,'

let ensemble: Ensemble
let newer: ZooKeeperClient
let ann: Locks
let bob: Locks

beforeAll(async () => {
  ensemble = await startZooKeeper({ size: 1 })
})

beforeEach(async () => {
  const [port = 0] = ensemble.ports
  const nothing = () => {}
  newer = new ZooKeeperClient(
    {
      servers: [{ host: '127.0.0.1', port }],
      timeoutMs: 10_000,
      auth: null,
      tls: null,
      runtime: nodeRuntime,
    },
    { connected: nothing, disconnected: nothing, expired: nothing },
  )
  await newer.session.ready(10_000)
  ann = await connect(`zookeeper://${ensemble.hosts}`, { ttl: TTL_MS, label: 'ann' })
  bob = await connect(`zookeeper://${ensemble.hosts}`, { ttl: TTL_MS, label: 'bob' })
})

afterEach(async () => {
  await Promise.all([ann.close(), bob.close(), newer.session.close()])
})

afterAll(() => ensemble.stop())

/** A process of a newer version claims a key that is in use. */
async function joinAsNewer(key: string): Promise<void> {
  const acl = [{ permissions: 31, scheme: 'world', id: 'anyone' }]
  await newer.create(`/holdfast/locks/${key}/${NEWER}`, Buffer.from('{}'), 'ephemeral sequential', acl)
}

const nodesOf = (key: string) => newer.list(`/holdfast/locks/${key}`)

describe('beside a node of a newer version', () => {
  it('leases are renewed and released, and a waiter gets its turn', async () => {
    const leases = await Promise.all(['one', 'two', 'three'].map((key) => ann.acquire(key)))
    const waiting = bob.acquire('two', { wait: 30_000 })
    await expect.poll(async () => (await nodesOf('two')).length).toBe(2)
    await Promise.all([joinAsNewer('one'), joinAsNewer('two')])
    const renewed = new Map<string, number>()
    const failures: unknown[] = []
    ann.on('renewed', ({ key }) => renewed.set(key, (renewed.get(key) ?? 0) + 1))
    ann.on('storeFailed', ({ error }) => failures.push(error))
    bob.on('storeFailed', ({ error }) => failures.push(error))
    for (const key of ['one', 'two', 'three'])
      await expect.poll(() => renewed.get(key) ?? 0, { timeout: 10_000 }).toBeGreaterThan(4)
    expect(leases.map(({ held }) => held)).toEqual([true, true, true])
    expect((await ann.read('two')).holders.map(({ label }) => label)).toEqual(['ann'])
    await Promise.all(leases.map((lease) => lease.release()))
    const next = await waiting
    expect((await bob.read('two')).holders.map(({ label }) => label)).toEqual(['bob'])
    await next.release()
    expect(failures).toEqual([])
    expect((await nodesOf('one')).map((name) => name.slice(0, NEWER.length))).toEqual([NEWER])
    expect((await nodesOf('two')).map((name) => name.slice(0, NEWER.length))).toEqual([NEWER])
  })

  it.each([
    ['that waits', 10_000],
    ['that does not wait', 0],
  ])('a claim %s is refused clearly, and others of its batch are served', async (_, wait) => {
    const lease = await ann.acquire('mixed')
    await joinAsNewer('mixed')
    const others = ['free', 'also-free']
    const [refused, ...served] = await Promise.allSettled(
      ['mixed', ...others].map((key) => bob.acquire(key, { wait })),
    )
    expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(UnsupportedError) })
    expect(refused).toMatchObject({
      reason: { message: expect.stringMatching(/another version of Holdfast: 4,/) },
    })
    expect(served.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    await expect(bob.all(['mixed', 'third'], { wait })).rejects.toThrow(UnsupportedError)
    await lease.release()
    await expect(bob.acquire('mixed', { wait })).rejects.toThrow(UnsupportedError)
    expect((await nodesOf('mixed')).map((name) => name.slice(0, NEWER.length))).toEqual([NEWER])
    await expect(bob.evict('mixed')).rejects.toThrow(UnsupportedError)
  })

  it('every key is listed, and the one of another version is marked', async () => {
    const lease = await ann.acquire('strange')
    await joinAsNewer('strange')
    await lease.release()
    await ann.acquire('usual')
    const labels = new Map<string, readonly string[]>()
    for await (const { key, holders } of ann.list())
      labels.set(
        key,
        holders.map(({ label }) => label),
      )
    expect(Object.fromEntries(labels)).toMatchObject({
      strange: ['another version of Holdfast'],
      usual: ['ann'],
    })
  })
})
