import { connect } from 'holdfast'
import { afterAll, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { startProxy } from '../../../scripts/servers/proxy.ts'
import { Operator } from './operator.ts'

const cluster = await startEtcd({ members: 1 })
const proxy = await startProxy(cluster.members[0]?.port ?? 0)
const url = `etcd://127.0.0.1:${proxy.port}`
const MANY = 60
afterAll(async () => {
  await proxy.close()
  await cluster.stop()
})

it('many clients of one process share one connection, are served one by one and leave nothing behind', async () => {
  const all = await Promise.all(Array.from({ length: MANY }, () => connect(url, { wait: 60_000 })))
  let inside = 0
  let most = 0
  let served = 0
  const holder = await connect(url)
  const lease = await holder.acquire('crowd')
  const work = all.map((locks) =>
    locks.using('crowd', async () => {
      most = Math.max(most, ++inside)
      await Promise.resolve()
      inside--
      served++
    }),
  )
  await lease.release()
  await Promise.all(work)
  expect({ served, most }).toEqual({ served: MANY, most: 1 })
  expect(proxy.connections).toBe(1)
  await holder.close()
  await Promise.all(all.slice(1).map((locks) => locks.close()))
  expect(await all[0]?.using('after', () => 'the last one goes on'), 'others were closed').toBe(
    'the last one goes on',
  )
  await all[0]?.close()
  const operator = new Operator(cluster.endpoints)
  await expect.poll(() => operator.countKeys()).toBe(0)
  await expect.poll(() => operator.countLeases()).toBe(0)
})
