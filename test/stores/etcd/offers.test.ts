import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { createStore } from '../../../src/stores/etcd/create.ts'
import type { EtcdStore } from '../../../src/stores/etcd/store.ts'
import type { Txn } from '../../../src/stores/etcd/wire/requests.ts'
import { claimOf } from '../sqlite/claims.ts'

const TTL_MS = 3000
const LONG_MS = 20_000
const isPut = ({ success }: Txn): boolean =>
  success.some((op) => op.kind === 'put' || (op.kind === 'txn' && isPut(op)))

const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

let store: EtcdStore
let other: EtcdStore

beforeEach(() => {
  store = createStore({ endpoints: cluster.endpoints })
  other = createStore({ endpoints: cluster.endpoints })
})

afterEach(() => Promise.all([store.close(), other.close()]))

async function kindOf(asked: EtcdStore, claim: Claim): Promise<string | undefined> {
  return (await asked.attempt([claim]))[0]?.kind
}

it(
  'a grant that is taken up while its lease is kept alive does not end with the offer',
  async () => {
    const holder = claimOf('offer', { ttlMs: LONG_MS })
    const waiter = claimOf('offer', { ttlMs: TTL_MS })
    await kindOf(other, holder)
    expect(await kindOf(store, waiter)).toBe('blocked')
    const heard: string[] = []
    store.notices(({ kind }) => heard.push(kind))
    // Old enough that the hold to come needs a keep-alive, whose answer is slow.
    const { client } = store
    const keepAlive = client.keepAlive.bind(client)
    client.keepAlive = () => Promise.reject(new StoreError('not now'))
    await sleep(1500)
    client.keepAlive = async (lease) => {
      const answer = await keepAlive(lease)
      await sleep(400)
      return answer
    }
    const txn = client.txn.bind(client)
    const taken = new Promise<string | undefined>((resolve, reject) => {
      client.txn = async (wanted) => {
        const answer = await txn(wanted)
        const writes = wanted.success.some((op) => op.kind === 'put' && op.value.includes('"held"'))
        if (writes && answer.succeeded) setTimeout(() => kindOf(store, waiter).then(resolve, reject), 100)
        return answer
      }
    })
    await other.release([holder])
    expect(await taken).toBe('granted')
    client.txn = txn
    await sleep(1500)
    expect((await other.admin.read('offer')).holders.length, 'longer than an offer lives').toBe(1)
    expect(heard).not.toContain('granted')
    expect(heard).not.toContain('lost')
  },
  LONG_MS,
)

it(
  'a claim that moved to another lease without an answer is renewed on one that is kept alive',
  async () => {
    const claim = claimOf('moving', { ttlMs: 2000 })
    expect(await kindOf(store, claim)).toBe('granted')
    const { client } = store
    const txn = client.txn.bind(client)
    client.txn = async (wanted) => {
      const answer = await txn(wanted)
      if (isPut(wanted)) throw new StoreError('the answer was lost')
      return answer
    }
    expect((await store.renew([{ ...claim, ttlMs: 4000 }]))[0]?.kind).toBe('unknown')
    client.txn = txn
    // By then the lease that it has moved to is over, and nobody keeps it alive.
    for (let renewals = 0; renewals < 25; renewals++) {
      expect((await store.renew([claim]))[0]?.kind).toBe('renewed')
      await sleep(300)
    }
    expect((await other.admin.read('moving')).holders.length).toBe(1)
  },
  LONG_MS,
)

it('permits that were only tried for are not due by an order that others have passed', async () => {
  const permits = (weight: number): Mode => ({ kind: 'permits', limit: 3, weight })
  const first = claimOf('pool', { ttlMs: LONG_MS, mode: permits(1) })
  const tried = claimOf('pool', { ttlMs: LONG_MS, mode: permits(3), queue: false })
  const small = claimOf('pool', { ttlMs: LONG_MS, mode: permits(2), queue: false })
  expect(await kindOf(other, first)).toBe('granted')
  const { client } = store
  const txn = client.txn.bind(client)
  let sent = 0
  client.txn = (wanted) => (sent++ === 0 ? txn(wanted) : Promise.reject(new StoreError('cut off')))
  await expect(store.attempt([tried])).rejects.toThrow('cut off')
  client.txn = txn
  const passed = await kindOf(other, small)
  await other.release([first])
  const again = await kindOf(store, tried)
  expect([passed, again].filter((kind) => kind === 'granted').length, 'never 5 permits of 3').toBeLessThan(2)
})

it('an exclusive claim does not pass permits in the queue, whatever is before it goes', async () => {
  const { isNext } = await import('../../../src/stores/etcd/guards.ts')
  const { queueName } = await import('../../../src/stores/etcd/names.ts')
  const name = queueName('mixed', 'permits', 5, 'x')
  for (const mode of [{ kind: 'exclusive' }, { kind: 'shared' }] as const) {
    const guards = isNext(claimOf('mixed', { mode }), 9)
    expect(guards.some(({ key, end }) => key <= name && end !== undefined && name < end)).toBe(true)
  }
})
