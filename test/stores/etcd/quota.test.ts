import { createLocks } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { expect, it, onTestFinished } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'

/** Writes until the member says that its quota is reached. */
async function fill(endpoint: string): Promise<void> {
  const value = Buffer.alloc(100_000).toString('base64')
  for (let index = 0; ; index++) {
    const key = Buffer.from(`filler ${index}`).toString('base64')
    const answer = await fetch(`http://${endpoint}/v3/kv/put`, {
      method: 'POST',
      body: JSON.stringify({ key, value }),
    })
    if (answer.ok) continue
    expect(await answer.text()).toContain('database space exceeded')
    return
  }
}

it('a cluster with a full quota keeps leases, accepts releases and refuses claims with the reason', async () => {
  const cluster = await startEtcd({ members: 1, args: ['--quota-backend-bytes=2000000'] })
  const { endpoints } = cluster
  const locks = createLocks({ store: etcd({ endpoints }), ttl: 2000 })
  onTestFinished(async () => {
    await locks.close()
    await cluster.stop()
  })
  const lease = await locks.acquire('held')
  let renewals = 0
  locks.on('renewed', () => renewals++)
  await fill(endpoints[0] as string)
  const before = renewals
  await expect.poll(() => renewals, { timeout: 10_000 }).toBeGreaterThan(before + 4)
  expect(lease.held).toBe(true)
  await expect(locks.acquire('new', { wait: 0 })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/quota .*NOSPACE/),
  })
  expect(await lease.release()).toBe('released')
  expect((await locks.read('held')).holders).toEqual([])
})
