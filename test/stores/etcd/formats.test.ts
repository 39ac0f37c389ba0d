import { createLocks } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { afterAll, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { queueName, shutName } from '../../../src/stores/etcd/names.ts'
import { claimOf } from '../sqlite/claims.ts'

const cluster = await startEtcd({ members: 1 })
const { endpoints } = cluster
const store = etcd({ endpoints })
const other = etcd({ endpoints })
afterAll(async () => {
  await Promise.all([store.close(), other.close()])
  await cluster.stop()
})

/** A claim as a later version may write it: with a known name and an unknown value. */
const inQueue = (key: string): string => queueName(key, 'exclusive', 1, `stranger ${key}`)
const shut = (key: string): string => shutName({ key, id: 'stranger' })
const behind = (key: string): string => queueName(key, 'exclusive', 10 ** 12, `stranger ${key}`)
/** A holder as version 1 wrote it. */
const former = (key: string): string => `holdfast/lock/${key}\0bstranger`

async function addStranger(
  key: string,
  value = '{"format":3,"waits":true}',
  nameOf = inQueue,
): Promise<() => Promise<void>> {
  const name = Buffer.from(nameOf(key)).toString('base64')
  const post = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`http://${endpoints[0]}/v3/kv/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    expect(answer.ok).toBe(true)
  }
  await post('put', { key: name, value: Buffer.from(value).toString('base64') })
  return () => post('deleterange', { key: name })
}

it.each([
  ['{"format":3}', inQueue],
  ['no JSON', inQueue],
  ['{"format":1,"state":"held","label":"old","inbox":"a"}', former],
] as const)('one key in another format (%s) spoils no other of its batch', async (text, nameOf) => {
  const keys = ['strange', 'one', 'two'].map((name) => `${name} ${text}`)
  const leave = await addStranger(keys[0] as string, text, nameOf)
  const claims = keys.map((key) => claimOf(key))
  const answers = await store.attempt(claims)
  expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'granted', 'granted'])
  expect(answers[0]).toMatchObject({ reason: 'format', message: expect.stringContaining('one version') })
  expect((await store.renew(claims)).map(({ kind }) => kind)).toEqual(['lost', 'renewed', 'renewed'])
  expect((await store.release(claims)).map(({ kind }) => kind)).toEqual(['absent', 'released', 'released'])
  await leave()
  expect((await store.attempt([claims[0] as (typeof claims)[0]]))[0]?.kind, 'nothing was left behind').toBe(
    'granted',
  )
})

it('a lease and an earlier position live on beside claims of a later version', async () => {
  const key = 'rolling'
  const [held, waits, fine] = [claimOf(key), claimOf(key), claimOf('fine')]
  expect((await store.attempt([held, fine])).map(({ kind }) => kind)).toEqual(['granted', 'granted'])
  expect((await other.attempt([waits]))[0]?.kind).toBe('blocked')
  await addStranger(key, '{"format":3}', behind)
  expect(await store.renew([held, fine])).toMatchObject([
    { kind: 'renewed', contended: true },
    { kind: 'renewed' },
  ])
  expect((await other.attempt([waits]))[0]?.kind).toBe('blocked')
  expect((await store.release([held]))[0]?.kind).toBe('released')
  expect((await other.attempt([waits]))[0]?.kind).toBe('granted')
  expect((await other.renew([waits]))[0]).toMatchObject({ kind: 'renewed' })
})

it('a claim for such a key is told to upgrade', async () => {
  await addStranger('told')
  const locks = createLocks({ store: etcd({ endpoints }) })
  await expect(locks.acquire('told')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await expect(locks.read('told')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await locks.close()
})

it('a list marks such keys and shows the others', async () => {
  const locks = createLocks({ store: etcd({ endpoints }), label: 'ours' })
  await Promise.all(['beside', 'shut', 'usual'].map((key) => locks.acquire(`list ${key}`)))
  await addStranger('list beside', '{"format":3}', behind)
  await addStranger('list shut', 'no JSON', shut)
  await addStranger('list strange', 'no JSON')
  const shown = new Map<string, readonly string[]>()
  for await (const { key, holders } of locks.list({ prefix: 'list ' }))
    shown.set(
      key,
      holders.map(({ label }) => label),
    )
  expect(Object.fromEntries(shown)).toEqual({
    'list beside': ['ours', 'another version of Holdfast'],
    'list shut': ['ours'],
    'list strange': ['another version of Holdfast'],
    'list usual': ['ours'],
  })
  expect((await locks.doctor({ prefix: 'list ', watch: 0 })).keys).toBe(4)
  await locks.close()
})
