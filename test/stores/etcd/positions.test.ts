import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'

test('the doctor never reports a living waiter as dead', async () => {
  const cluster = await startEtcd({ members: 1 })
  onTestFinished(() => cluster.stop())
  const open = async () => {
    const locks = await connect(`etcd://${cluster.endpoints.join(',')}`, { ttl: '30s', label: 'elsewhere:1' })
    onTestFinished(() => locks.close())
    return locks
  }
  const [holder, waiter, other, operator] = await Promise.all([open(), open(), open(), open()])
  await holder.acquire('a')
  for (const locks of [waiter, other]) {
    // The first wait of a process makes the lease that the places of later ones are bound to.
    await locks.acquire('a', { wait: '1s' }).catch(() => {})
    locks.acquire('a', { wait: '1m' }).catch(() => {})
  }
  await expect.poll(async () => (await operator.read('a')).queue.length).toBe(2)
  // A position is renewed about every second.
  for (let look = 0; look < 15; look++) {
    const { findings } = await operator.doctor({ watch: 0 })
    expect(findings.filter(({ code }) => code === 'DEAD_WAITER')).toEqual([])
    await sleep(200)
  }
}, 30_000)
