import { afterAll, expect, it, onTestFinished } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { StoreError } from '../../../src/errors.ts'
import { LOCKS } from '../../../src/stores/etcd/names.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import { claimOf } from '../sqlite/claims.ts'

const TTL_MS = 5000
const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

/** A store on a machine that can sleep: the wall clock goes on, the monotonic one stands still. */
function sleeper() {
  let sleptMs = 0
  const runtime = { ...nodeRuntime, wallMs: () => nodeRuntime.wallMs() + sleptMs }
  const store = createStore({ endpoints: cluster.endpoints, runtime })
  onTestFinished(() => store.close())
  const { client } = store
  const keepAlive = client.keepAlive.bind(client)
  const calls = { keepAlive: 0 }
  client.keepAlive = (id) => {
    calls.keepAlive++
    return keepAlive(id)
  }
  const sleep = (ms: number): void => {
    sleptMs += ms
  }
  return { store, sleep, calls }
}

const claim = (key: string) => claimOf(key, { ttlMs: TTL_MS })

it('a claim made after a sleep relies on no lease that may have ended in it', async () => {
  const { store, sleep, calls } = sleeper()
  expect((await store.attempt([claim('before')]))[0]?.kind).toBe('granted')
  calls.keepAlive = 0
  sleep(1500)
  expect((await store.attempt([claim('after')]))[0]?.kind).toBe('granted')
  expect(calls.keepAlive).toBe(1)
})

it('a renewal after a sleep keeps the lease alive before it says so', async () => {
  const { store, sleep, calls } = sleeper()
  const held = claim('renewed')
  expect((await store.attempt([held]))[0]?.kind).toBe('granted')
  calls.keepAlive = 0
  sleep(1500)
  expect((await store.renew([held]))[0]?.kind).toBe('renewed')
  expect(calls.keepAlive).toBe(1)
})

it('after a sleep beyond its lease a claim is made under a new one', async () => {
  const { store, sleep } = sleeper()
  const held = claim('kept')
  expect((await store.attempt([held]))[0]?.kind).toBe('granted')
  sleep(60_000)
  expect((await store.attempt([claim('new')]))[0]?.kind).toBe('granted')
  // The key is still there, because etcd itself did not sleep a minute.
  expect((await store.renew([held]))[0]?.kind).toBe('renewed')
})

it('a hold that is gone is lost although its lease could not be kept alive', async () => {
  const { store, sleep } = sleeper()
  const held = claim('deleted')
  expect((await store.attempt([held]))[0]?.kind).toBe('granted')
  const { kvs } = await store.client.range(LOCKS)
  const own = kvs.filter(({ key }) => key.includes(held.id))
  expect(own.length).toBeGreaterThan(0)
  const success = own.map(({ key }) => ({ kind: 'delete', key }) as const)
  await store.client.txn({ compare: [], success, failure: [] })
  store.client.keepAlive = () => Promise.reject(new StoreError('etcdserver: leader changed'))
  sleep(1500)
  expect((await store.renew([held]))[0]?.kind).toBe('lost')
})
