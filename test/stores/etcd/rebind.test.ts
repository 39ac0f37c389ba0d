import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Claim } from '../../../src/model/index.ts'
import type { Op, Txn } from '../../../src/stores/etcd/client/requests.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import type { EtcdStore } from '../../../src/stores/etcd/store.ts'
import { claimOf } from '../sqlite/claims.ts'

const HOLDS = 2000
const TTL_MS = 20_000

const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

let store: EtcdStore
let holds: readonly Claim[]
let meddle: (txn: Txn) => Promise<void> | void

beforeEach(async () => {
  store = createStore({ endpoints: cluster.endpoints })
  meddle = () => {}
  const { client } = store
  const txn = client.txn.bind(client)
  client.txn = async (wanted) => {
    await meddle(wanted)
    return txn(wanted)
  }
  holds = Array.from({ length: HOLDS }, (_, place) => claimOf(`held ${place}`, { ttlMs: TTL_MS }))
  expect(kindsOf(await store.attempt(holds))).toEqual({ granted: HOLDS })
})
afterEach(() => store.close())

const failing = (): never => {
  throw new StoreError('etcdserver: leader changed')
}

/** The etcd lease of all holds is relied on no more: what was sent with it may arrive late. */
async function loseAnAnswer(): Promise<void> {
  meddle = failing
  await expect(store.attempt([claimOf('unanswered', { ttlMs: TTL_MS })])).rejects.toThrow('leader changed')
  meddle = () => {}
}

function kindsOf(answers: readonly { readonly kind: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

const names = (ops: readonly Op[]): string[] =>
  ops.flatMap((op) => (op.kind === 'txn' ? names(op.success) : op.kind === 'put' ? [op.key] : []))

it('many holds are rebound in few transactions, a few at a time', async () => {
  await loseAnAnswer()
  let [calls, atOnce, mostAtOnce] = [0, 0, 0]
  const { client } = store
  const txn = client.txn.bind(client)
  client.txn = async (wanted) => {
    calls++
    if (names(wanted.success).length === 0) return txn(wanted)
    mostAtOnce = Math.max(mostAtOnce, ++atOnce)
    return txn(wanted).finally(() => atOnce--)
  }
  expect(kindsOf(await store.renew(holds))).toEqual({ renewed: HOLDS })
  expect(calls, 'half of them looks').toBeLessThan(HOLDS / 20)
  expect(mostAtOnce).toBeLessThanOrEqual(8)
})

it('a hold that two renewals need rebound is rebound once', async () => {
  await loseAnAnswer()
  const moved: string[] = []
  meddle = ({ success }) => void moved.push(...names(success))
  const both = await Promise.all([store.renew(holds), store.renew(holds)])
  expect(both.map(kindsOf)).toEqual([{ renewed: HOLDS }, { renewed: HOLDS }])
  expect(moved.length).toBe(HOLDS)
})

it('a hold that is gone does not keep others from being rebound', async () => {
  await loseAnAnswer()
  const other = createStore({ endpoints: cluster.endpoints })
  const gone = holds.filter((_, place) => place % 100 === 7)
  await other.release(gone)
  await other.close()
  const answers = await store.renew(holds)
  expect(holds.filter((_, place) => answers[place]?.kind === 'lost')).toEqual(gone)
  expect(kindsOf(answers)).toEqual({ lost: gone.length, renewed: HOLDS - gone.length })
})

it('holds whose rebinding was not answered are rebound again', async () => {
  await loseAnAnswer()
  meddle = ({ success }) => {
    if (names(success).some((name) => name.includes('/held 7\0'))) failing()
  }
  const { unknown = 0 } = kindsOf(await store.renew(holds))
  expect(unknown).toBeGreaterThan(0)
  meddle = () => {}
  expect(kindsOf(await store.renew(holds))).toEqual({ renewed: HOLDS })
})
