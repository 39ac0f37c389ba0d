import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Claim } from '../../../src/model/index.ts'
import type { Txn } from '../../../src/stores/etcd/client/requests.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import type { EtcdStore } from '../../../src/stores/etcd/store.ts'
import { claimOf } from '../sqlite/claims.ts'

/** More than travel in one transaction. */
const MANY = 65
const ODD_TTL_MS = 6000

const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

let store: EtcdStore
beforeEach(() => {
  store = createStore({ endpoints: cluster.endpoints })
})
afterEach(() => store.close())

const failing = () => Promise.reject(new StoreError('etcdserver: leader changed'))

/** From now on no transaction is answered that names the key. */
function refuse(key: string): void {
  const { client } = store
  const txn = client.txn.bind(client)
  client.txn = (wanted: Txn) => {
    const text = JSON.stringify(wanted, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    return text.includes(key) ? failing() : txn(wanted)
  }
}

async function kindsOf(answers: Promise<readonly { kind: string }[]>): Promise<readonly string[]> {
  return (await answers).map(({ kind }) => kind)
}

describe('of the claims of one call, the others are granted when', () => {
  it('one that is sent by itself fails', async () => {
    refuse('odd')
    const batch = [claimOf('by itself'), claimOf('odd', { replaces: 'another' }), claimOf('alone')]
    expect(await kindsOf(store.attempt(batch))).toEqual(['granted', 'unknown', 'granted'])
  })

  it('one of several transactions fails', async () => {
    refuse('crowd 64')
    const batch = Array.from({ length: MANY }, (_, place) => claimOf(`crowd ${place}`))
    const kinds = await kindsOf(store.attempt(batch))
    expect(kinds.slice(0, 60)).toEqual(Array(60).fill('granted'))
    expect(kinds.slice(60)).toEqual(Array(5).fill('unknown'))
  })

  it('a group fails', async () => {
    refuse('odd group')
    const group = ['odd group', 'of two'].map((key) => claimOf(key, { group: 'g', queue: false }))
    const other = claimOf('fine group', { group: 'h', queue: false })
    const batch = [claimOf('before the group'), ...group, other]
    expect(await kindsOf(store.attempt(batch))).toEqual(['granted', 'unknown', 'unknown', 'granted'])
  })

  it('the claims beside a group fail', async () => {
    refuse('beside')
    const batch = [claimOf('beside'), claimOf('in a group', { group: 'g', queue: false })]
    expect(await kindsOf(store.attempt(batch))).toEqual(['unknown', 'granted'])
  })

  it('etcd gives no lease for the ttl of one', async () => {
    const { client } = store
    const grant = client.grant.bind(client)
    client.grant = (seconds, id) => (seconds * 1000 === ODD_TTL_MS + 1000 ? failing() : grant(seconds, id))
    const batch = [claimOf('usual ttl'), claimOf('odd ttl', { ttlMs: ODD_TTL_MS }), claimOf('as usual')]
    expect(await kindsOf(store.attempt(batch))).toEqual(['granted', 'unknown', 'granted'])
  })

  it('the lease of one does not last', async () => {
    const { leases } = (store as unknown as { context: { leases: LeasesOf } }).context
    const extend = leases.extend.bind(leases)
    leases.extend = (lease, ttlMs) => (ttlMs === ODD_TTL_MS ? failing() : extend(lease, ttlMs))
    const batch = [claimOf('lasts'), claimOf('does not', { ttlMs: ODD_TTL_MS }), claimOf('lasts, too')]
    expect(await kindsOf(store.attempt(batch))).toEqual(['granted', 'unknown', 'granted'])
  })
})

it('of many holds, the others are renewed when one of several looks fails', async () => {
  const batch: readonly Claim[] = Array.from({ length: MANY }, (_, place) => claimOf(`held ${place}`))
  expect(new Set(await kindsOf(store.attempt(batch)))).toEqual(new Set(['granted']))
  refuse('held 64')
  const kinds = await kindsOf(store.renew(batch))
  expect(kinds.slice(0, 60)).toEqual(Array(60).fill('renewed'))
  expect(kinds.slice(60)).toEqual(Array(5).fill('unknown'))
})

it('an attempt without any answer fails as a whole', async () => {
  refuse('never')
  const batch = ['never one', 'never two'].map((key) => claimOf(key))
  await expect(store.attempt(batch)).rejects.toThrow('leader changed')
})

interface LeasesOf {
  extend(lease: unknown, ttlMs: number): unknown
}
