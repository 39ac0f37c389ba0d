import { afterAll, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { StoreError } from '../../../src/errors.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import type { EtcdStore } from '../../../src/stores/etcd/store.ts'
import { claimOf } from '../sqlite/claims.ts'

const cluster = await startEtcd({ members: 1 })
const { endpoints } = cluster
const store = createStore({ endpoints })
const other = createStore({ endpoints })
afterAll(async () => {
  await Promise.all([store.close(), other.close()])
  await cluster.stop()
})

const permits = (weight: number): Mode => ({ kind: 'permits', limit: 3, weight })

async function tokenOf(asked: EtcdStore, claim: Claim): Promise<bigint> {
  for (;;) {
    const [answer] = await asked.attempt([claim])
    if (answer?.kind === 'granted') return answer.token as bigint
    expect(answer?.kind).toBe('blocked')
  }
}

/** The claim arrives, and nothing that it sends after that gets through. */
async function arriveOnly(claim: Claim): Promise<void> {
  const { client } = store
  const txn = client.txn.bind(client)
  let sent = 0
  client.txn = (wanted) => (sent++ === 0 ? txn(wanted) : Promise.reject(new StoreError('cut off')))
  await expect(store.attempt([claim])).rejects.toThrow('cut off')
  client.txn = txn
}

it.each([
  ['the same store', () => store],
  ['another connection', () => other],
] as const)(
  'a claim for permits that arrived and got no position has a token above those granted meanwhile (%s)',
  async (name, takeUp) => {
    const [holder, next, last] = [3, 2, 2].map((weight) => claimOf(`pool ${name}`, { mode: permits(weight) }))
    if (holder === undefined || next === undefined || last === undefined) throw new Error('three claims')
    const first = await tokenOf(other, holder)
    expect((await other.attempt([next]))[0]?.kind).toBe('blocked')
    await arriveOnly(last)
    await other.release([holder])
    const second = await tokenOf(other, next)
    await other.release([next])
    const third = await tokenOf(takeUp(), last)
    expect(second).toBeGreaterThan(first)
    expect(third).toBeGreaterThan(second)
  },
)
