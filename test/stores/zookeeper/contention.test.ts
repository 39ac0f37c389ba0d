import { connect, type Locks } from 'holdfast'
import { zookeeper } from 'holdfast/zookeeper'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { ZooKeeperClient } from '../../../src/stores/zookeeper/client/client.ts'

const MANY = 300
const SOON = { timeout: 10_000, interval: 20 }
const EXCLUSIVE: Mode = { kind: 'exclusive' }
const SHARED: Mode = { kind: 'shared' }
const PERMIT: Mode = { kind: 'permits', limit: 10, weight: 1 }

let ensemble: Ensemble
const opened: { close(): unknown }[] = []

beforeAll(async () => {
  ensemble = await startZooKeeper({ size: 1 })
})

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((each) => each.close()))
})

afterAll(() => ensemble.stop())

/** A store as another process would have it, unless it is one of ours. */
function open(apart = false): Store {
  const options = apart ? { runtime: { ...nodeRuntime } } : {}
  const store = zookeeper(`zookeeper://${ensemble.hosts}`, options)
  opened.push(store)
  return store
}

function claim(key: string, changes: Partial<Claim> = {}): Claim {
  return {
    key,
    id: nodeRuntime.newId(),
    mode: EXCLUSIVE,
    ttlMs: 30_000,
    queue: true,
    owner: null,
    actor: null,
    label: '',
    meta: null,
    lockDelayMs: 0,
    group: null,
    replaces: null,
    ...changes,
  }
}

async function take(store: Store, key: string, changes: Partial<Claim> = {}): Promise<Claim> {
  const wanted = claim(key, changes)
  expect(await store.attempt([wanted])).toMatchObject([{ kind: 'granted' }])
  return wanted
}

async function wait(store: Store, key: string, changes: Partial<Claim> = {}): Promise<Claim> {
  const wanted = claim(key, changes)
  expect(await store.attempt([wanted])).toMatchObject([{ kind: 'blocked' }])
  return wanted
}

function heardBy(store: Store): StoreNotice[] {
  const heard: StoreNotice[] = []
  store.notices((notice) => heard.push(notice))
  return heard
}

const idsOf = (heard: readonly StoreNotice[], kind: StoreNotice['kind']) =>
  heard.filter((notice) => notice.kind === kind).map(({ id }) => id)

describe('many claims on one key', () => {
  it.each([
    ['exclusive', EXCLUSIVE, 1],
    ['permits', PERMIT, 10],
  ])('are served in order with a few lists: %s', async (name, mode, holders) => {
    const store = open()
    const heard = heardBy(store)
    const first = await Promise.all(Array.from({ length: holders }, () => take(store, name, { mode })))
    const list = vi.spyOn(ZooKeeperClient.prototype, 'list')
    const claims = Array.from({ length: MANY }, () => claim(name, { mode }))
    for (const each of claims) await store.attempt([each])
    expect(list.mock.calls.length).toBeLessThan(5)
    let next = [...first]
    const served: string[] = []
    while (served.length < MANY) {
      const before = idsOf(heard, 'granted').length
      await store.release(next)
      await expect.poll(() => idsOf(heard, 'granted').length, SOON).toBe(before + next.length)
      const ids = idsOf(heard, 'granted').slice(before)
      next = claims.filter(({ id }) => ids.includes(id))
      served.push(...next.map(({ id }) => id))
    }
    expect(served).toEqual(claims.map(({ id }) => id))
    expect(list.mock.calls.length).toBeLessThan(10)
  })

  it('are renewed by one transaction for all, without a list', async () => {
    const store = open()
    await take(store, 'patient')
    const claims = Array.from({ length: MANY }, () => claim('patient'))
    await Promise.all(claims.map((each) => store.attempt([each])))
    const list = vi.spyOn(ZooKeeperClient.prototype, 'list')
    const multi = vi.spyOn(ZooKeeperClient.prototype, 'multi')
    const answers = await store.renew(claims)
    expect(answers.map((answer) => answer.kind)).toEqual(claims.map(() => 'waiting'))
    const positions = answers.map((answer) => (answer.kind === 'waiting' ? answer.position : -1))
    expect(positions.sort((one, other) => one - other)).toEqual(claims.map((_, index) => index + 1))
    // Only the holder asks to be told of arrivals.
    expect(list.mock.calls.filter(([, watcher]) => watcher === undefined)).toEqual([])
    expect(multi).toHaveBeenCalledTimes(1)
  })

  it('of readers are granted at once, confirmed together, and some are notified of a writer', async () => {
    const store = open()
    const heard = heardBy(store)
    const writer = await take(store, 'read')
    const readers = Array.from({ length: MANY }, () => claim('read', { mode: SHARED }))
    await Promise.all(readers.map((each) => store.attempt([each])))
    await store.release([writer])
    await expect.poll(() => idsOf(heard, 'granted').length, SOON).toBe(MANY)
    const renewed = await store.renew(readers)
    expect(renewed.filter(({ kind }) => kind !== 'renewed')).toEqual([])
    // The next renewals find those who have asked to be told.
    await store.renew(readers)
    const other = open(true)
    const next = await wait(other, 'read')
    await expect.poll(() => idsOf(heard, 'contended').length, SOON).toBeGreaterThan(0)
    expect(idsOf(heard, 'contended').length).toBeLessThanOrEqual(32)
    expect(await store.renew(readers.slice(-1))).toEqual([{ kind: 'renewed', contended: true }])
    const told = heardBy(other)
    await store.release(readers)
    await expect.poll(() => idsOf(told, 'granted'), SOON).toEqual([next.id])
  })

  it.each([
    ['a writer', EXCLUSIVE, 1],
    ['readers', SHARED, 3],
    ['permits', PERMIT, 10],
  ])('lets %s renew without a list as long as somebody waits', async (name, mode, holders) => {
    const [store, other] = [open(), open(true)]
    const held = await Promise.all(Array.from({ length: holders }, () => take(store, name, { mode })))
    const next = mode === SHARED ? EXCLUSIVE : mode
    const waiters: Claim[] = []
    for (let index = 0; index < 5; index++) waiters.push(await wait(other, name, { mode: next }))
    const renewed = async (): Promise<boolean[]> => {
      const answers = await store.renew(held)
      return answers.map((answer) => answer.kind === 'renewed' && answer.contended)
    }
    await expect.poll(renewed, SOON).toEqual(held.map(() => true))
    // The next renewal watches the nodes that the list showed.
    await renewed()
    const list = vi.spyOn(ZooKeeperClient.prototype, 'list')
    const attend = vi.spyOn(ZooKeeperClient.prototype, 'attend')
    for (let round = 0; round < 5; round++) expect(await renewed()).toEqual(held.map(() => true))
    expect([list.mock.calls.length, attend.mock.calls.length]).toEqual([0, 0])
    // The first waiter gives up, and the next one shows the same; then all do.
    await other.release(waiters.slice(0, 1))
    for (let round = 0; round < 5; round++) expect(await renewed()).toEqual(held.map(() => true))
    expect(list.mock.calls.length).toBeLessThanOrEqual(1)
    await other.release(waiters.slice(1))
    await expect.poll(renewed, SOON).toEqual(held.map(() => false))
  })

  it('keeps its order when waiters in the middle give up', async () => {
    const [store, other] = [open(), open(true)]
    const heard = heardBy(store)
    const holder = await take(other, 'middle')
    const claims: Claim[] = []
    for (let index = 0; index < 9; index++) claims.push(await wait(index % 3 === 1 ? other : store, 'middle'))
    const [first, , , fourth, , , last] = claims as [Claim, ...Claim[]] & { 3: Claim; 6: Claim }
    await other.release([claims[1] as Claim, claims[4] as Claim, claims[7] as Claim])
    await store.release([claims[2] as Claim, claims[5] as Claim])
    expect(idsOf(heard, 'granted')).toEqual([])
    await other.release([holder])
    for (const next of [first, fourth, last]) {
      await expect.poll(() => idsOf(heard, 'granted').at(-1), SOON).toBe(next.id)
      await store.release([next])
    }
    await expect.poll(() => idsOf(heard, 'granted').at(-1), SOON).toBe(claims[8]?.id)
    expect(idsOf(heard, 'granted').length).toBe(4)
  })
})

describe('a position with more than one node', () => {
  it('of a named owner is not free when its first claim goes', async () => {
    const [store, other] = [open(), open(true)]
    const heard = heardBy(store)
    const founder = await take(store, 'owned', { owner: 'workflow' })
    const next = await wait(store, 'owned')
    // The process that waits has not listed the queue since.
    const second = await take(other, 'owned', { owner: 'workflow' })
    await store.release([founder])
    expect(await store.renew([next])).toMatchObject([{ kind: 'waiting', position: 1 }])
    expect(idsOf(heard, 'granted')).toEqual([])
    await other.release([second])
    await expect.poll(() => idsOf(heard, 'granted'), SOON).toEqual([next.id])
  })

  it('of a writer that becomes a reader lets readers in, and no writer', async () => {
    const [store, other] = [open(), open(true)]
    const [readers, writers] = [heardBy(store), heardBy(other)]
    const writer = await take(other, 'softer')
    const reader = await wait(store, 'softer', { mode: SHARED })
    const next = await wait(other, 'softer')
    expect(await other.attempt([{ ...writer, mode: SHARED }])).toMatchObject([{ kind: 'granted' }])
    await expect.poll(() => idsOf(readers, 'granted'), SOON).toEqual([reader.id])
    await store.release([reader])
    expect(await other.renew([next])).toMatchObject([{ kind: 'waiting' }])
    await other.release([writer])
    await expect.poll(() => idsOf(writers, 'granted'), SOON).toEqual([next.id])
  })

  it('is remade by its holder while the others go on waiting', async () => {
    const [store, other] = [open(), open(true)]
    const heard = heardBy(store)
    const holder = await take(other, 'longer')
    const next = await wait(store, 'longer')
    const [before] = (await store.admin.read('longer')).holders
    // Longer than its session lives.
    const longer = { ...holder, ttlMs: 120_000 }
    expect(await other.renew([longer])).toMatchObject([{ kind: 'renewed' }])
    const [after] = (await store.admin.read('longer')).holders
    expect(after).toMatchObject({ token: before?.token, expiresInMs: holder.ttlMs })
    expect(await store.renew([next])).toMatchObject([{ kind: 'waiting', position: 1 }])
    expect(idsOf(heard, 'granted')).toEqual([])
    await other.release([longer])
    await expect.poll(() => idsOf(heard, 'granted'), SOON).toEqual([next.id])
  })
})

describe('stores of one process', () => {
  it('share a connection, serve each other and end by themselves', async () => {
    const url = `zookeeper://${ensemble.hosts}`
    const all: Locks[] = await Promise.all(Array.from({ length: 80 }, () => connect(url)))
    opened.push(...all)
    const leases = await Promise.all(all.map((locks, index) => locks.acquire(`own ${index}`)))
    const connections = await ensemble.members[0]?.figure('zk_num_alive_connections')
    expect(connections).toBeLessThan(5)
    let inside = 0
    let served = 0
    const work = async (): Promise<void> => {
      expect(++inside).toBe(1)
      await Promise.resolve()
      inside--
      served++
    }
    await Promise.all(all.map((locks) => locks.using('theirs', work)))
    expect(served).toBe(all.length)
    await all[0]?.close()
    expect(leases.slice(1).every(({ held }) => held)).toBe(true)
    const other = open(true)
    await take(other, 'own 0')
    await wait(other, 'own 1')
  })

  it('leave nothing in the sessions that others go on with', async () => {
    const [one, other] = [open(), open()]
    await take(other, 'stays')
    await take(one, 'goes')
    await wait(one, 'stays')
    await one.close()
    expect((await other.admin.read('goes')).holders).toEqual([])
    const { holders, queue } = await other.admin.read('stays')
    expect([holders.length, queue.length]).toEqual([1, 0])
  })
})
