import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Claim } from '../../../src/model/index.ts'
import type { Txn } from '../../../src/stores/etcd/client/requests.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import type { EtcdStore } from '../../../src/stores/etcd/store.ts'
import { claimOf } from '../sqlite/claims.ts'

const TTL_MS = 2000
/** A lease has a spare second, etcd looks for its end twice in a second, and a busy machine is slow. */
const FREE = { timeout: TTL_MS + 4000, interval: 50 }
const LONG_MS = 20_000

const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

let store: EtcdStore
let other: EtcdStore
let alive: Claim
let rest: () => void

/** Another claim of the same store, renewed as the core does it: it keeps the lease alive that all of them share. */
beforeEach(async () => {
  store = createStore({ endpoints: cluster.endpoints })
  other = createStore({ endpoints: cluster.endpoints })
  alive = claim('alive')
  rest = await keepAlive(alive)
})

afterEach(async () => {
  rest()
  await Promise.all([store.close(), other.close()])
})

function claim(key: string, rest: Partial<Claim> = {}): Claim {
  return claimOf(key, { ttlMs: TTL_MS, ...rest })
}

/** Takes the key and renews it, until it is called. */
async function keepAlive(wanted: Claim): Promise<() => void> {
  expect((await store.attempt([wanted]))[0]?.kind).toBe('granted')
  const beat = setInterval(() => Promise.resolve(store.renew([wanted])).catch(() => {}), 300)
  return () => clearInterval(beat)
}

/** Transactions about `part` of a key: `before` may fail or delay them, `after` delays their answer. */
function meddle(part: string, { before, after }: Meddling): () => void {
  const { client } = store
  const txn = client.txn.bind(client)
  client.txn = async (wanted: Txn) => {
    const meant = JSON.stringify(wanted, (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    ).includes(JSON.stringify(part).slice(1, -1))
    if (meant) await before?.(wanted)
    const answer = await txn(wanted)
    if (meant) await after?.(wanted)
    return answer
  }
  return () => {
    client.txn = txn
  }
}

interface Meddling {
  readonly before?: (txn: Txn) => Promise<void> | void
  readonly after?: (txn: Txn) => Promise<void> | void
}

const isPut = ({ success }: Txn): boolean =>
  success.some((op) => op.kind === 'put' || (op.kind === 'txn' && isPut(op)))
const isDelete = ({ success }: Txn): boolean =>
  success.some((op) => op.kind === 'delete' || (op.kind === 'txn' && isDelete(op)))
const LEADER_CHANGED = { kind: 'unknown', error: { message: 'etcdserver: leader changed' } }
const failing = (): never => {
  throw new StoreError('etcdserver: leader changed')
}

/** The other store gets the key, and the live claim has lived through it. */
async function expectFree(key: string, rest: Partial<Claim> = {}): Promise<void> {
  const next = claim(key, { queue: false, ...rest })
  await expect.poll(async () => (await other.attempt([next]))[0]?.kind, FREE).toBe('granted')
  expect((await store.renew([alive]))[0]?.kind).toBe('renewed')
}

/** Keep-alives fail until it is called. */
function failKeepAlives(): () => void {
  const { client } = store
  const keepAlive = client.keepAlive.bind(client)
  client.keepAlive = () => Promise.reject(new StoreError('etcdserver: leader changed'))
  return () => {
    client.keepAlive = keepAlive
  }
}

it(
  'a claim whose lease could not be kept alive while its transaction was answered late is ended in time',
  async () => {
    rest()
    const heal = failKeepAlives()
    // By then the lease is too old to serve a claim without a keep-alive.
    await sleep(1300)
    const calm = meddle('late', { after: () => sleep(300) })
    const wanted = claim('late')
    await expect(store.attempt([wanted])).rejects.toThrow('leader changed')
    heal()
    calm()
    rest = await keepAlive(alive)
    await expectFree('late')
  },
  LONG_MS,
)

it.each([0, 1000])(
  'a place in the queue that becomes a hold while its release fails is ended in time (lock delay %i ms)',
  async (lockDelayMs) => {
    const holder = claim('turn')
    await other.attempt([holder])
    // A position uses a shorter lease than the hold if one exists, which the second position ensures.
    const ttlMs = TTL_MS + 3000
    const stop = await keepAlive(claim('longer', { ttlMs }))
    const first = claim('turn', { ttlMs })
    expect((await store.attempt([first]))[0]?.kind).toBe('blocked')
    const waiter = claim('turn', { ttlMs, lockDelayMs })
    const short = async () => {
      await store.release([waiter])
      await store.attempt([waiter])
      return (await other.admin.read('turn')).queue.at(-1)?.expiresInMs
    }
    await expect.poll(short, FREE).toBeLessThan(4500)
    await store.release([first])
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    let granted = false
    const calm = meddle('turn', {
      before: (txn) => {
        if (isDelete(txn)) failing()
      },
      after: async (txn) => {
        if (!isPut(txn)) return
        granted = true
        await held
      },
    })
    await other.release([holder])
    await expect.poll(() => granted).toBe(true)
    expect((await store.release([waiter]))[0]).toMatchObject(LEADER_CHANGED)
    calm()
    answer()
    await expectFree('turn')
    stop()
  },
  LONG_MS,
)

it(
  'a hold that moves to another lease while its release fails is ended in time',
  async () => {
    const wanted = claim('moving')
    await store.attempt([wanted])
    let moved = false
    let answer = (): void => {}
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    const calm = meddle('moving', {
      before: (txn) => {
        if (isDelete(txn)) failing()
      },
      after: async (txn) => {
        if (!isPut(txn)) return
        moved = true
        await held
      },
    })
    // A longer ttl needs another lease, which lives on with a claim of its own.
    const ttlMs = TTL_MS + 3000
    const stop = await keepAlive(claim('longer', { ttlMs }))
    const renewed = Promise.resolve(store.renew([{ ...wanted, ttlMs }]))
    await expect.poll(() => moved).toBe(true)
    expect((await store.release([wanted]))[0]).toMatchObject(LEADER_CHANGED)
    calm()
    answer()
    await renewed
    await expectFree('moving')
    stop()
  },
  LONG_MS,
)

it(
  'permits that were only tried for, and could not be given back, are free in time',
  async () => {
    const mode = { kind: 'permits', limit: 1, weight: 1 } as const
    const holder = claim('pool', { mode })
    await other.attempt([holder])
    const calm = meddle('pool', {
      before: (txn) => {
        if (isDelete(txn)) failing()
      },
    })
    await expect(store.attempt([claim('pool', { mode, queue: false })])).rejects.toThrow('leader changed')
    calm()
    await other.release([holder])
    await expectFree('pool', { mode })
  },
  LONG_MS,
)

it(
  'a key that a lock delay closed opens in time although it could not be opened',
  async () => {
    const wanted = claim('closed', { lockDelayMs: 1000 })
    let tried = false
    await store.attempt([wanted])
    const calm = meddle('closed\0shut', {
      before: (txn) => {
        if (!isDelete(txn)) return
        tried = true
        failing()
      },
    })
    await expect.poll(() => tried, { timeout: LONG_MS }).toBe(true)
    calm()
    await expectFree('closed')
  },
  LONG_MS,
)
