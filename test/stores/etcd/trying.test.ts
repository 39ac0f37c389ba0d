import { etcd } from 'holdfast/etcd'
import { afterAll, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import type { Claim, Mode } from '../../../src/model/index.ts'
import { claimName, PERMITS } from '../../../src/stores/etcd/names.ts'
import { claimOf } from '../sqlite/claims.ts'

const cluster = await startEtcd({ members: 1 })
const endpoint = cluster.endpoints[0] as string
const store = etcd({ endpoints: [endpoint] })
afterAll(async () => {
  await store.close()
  await cluster.stop()
})

const permits = (weight: number): Mode => ({ kind: 'permits', limit: 3, weight })

async function tokenOf(claim: Claim): Promise<bigint> {
  for (;;) {
    const [answer] = await store.attempt([claim])
    if (answer?.kind === 'granted') return answer.token as bigint
    expect(answer?.kind).toBe('blocked')
  }
}

/** As it stands when the process could not write down that it waits. */
async function forgetThatItWaits({ key, id }: Claim): Promise<void> {
  const name = Buffer.from(claimName(key, PERMITS, id)).toString('base64')
  const [kv] = (await post('range', { key: name })).kvs as { value: string; lease: string }[]
  const value = JSON.parse(Buffer.from(kv?.value as string, 'base64').toString())
  expect(value.state).toBe('waiting')
  const text = JSON.stringify({ ...value, state: 'trying' })
  await post('put', { key: name, value: Buffer.from(text).toString('base64'), lease: kv?.lease })
}

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const init = { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(`http://${endpoint}/v3/kv/${path}`, init)
  return (await answer.json()) as Record<string, unknown>
}

it('a claim for permits that could not say that it waits gets a token above those that were granted meanwhile', async () => {
  const [holder, next, last] = [3, 2, 2].map((weight) => claimOf('pool', { mode: permits(weight) }))
  if (holder === undefined || next === undefined || last === undefined) throw new Error('three claims')
  const first = await tokenOf(holder)
  for (const claim of [next, last]) expect((await store.attempt([claim]))[0]?.kind).toBe('blocked')
  await forgetThatItWaits(last)
  await store.release([holder])
  const second = await tokenOf(next)
  await store.release([next])
  const third = await tokenOf(last)
  expect(second).toBeGreaterThan(first)
  expect(third).toBeGreaterThan(second)
})
