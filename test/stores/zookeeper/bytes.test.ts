import { createLocks, type Locks } from 'holdfast'
import { zookeeper } from 'holdfast/zookeeper'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { BYTES_PER_SESSION } from '../../../src/stores/zookeeper/client/session-pool.ts'

const KEYS = 6000

let ensemble: Ensemble
const opened: Locks[] = []

beforeAll(async () => {
  ensemble = await startZooKeeper({ size: 1 })
})

afterAll(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  await ensemble.stop()
})

/** With sessions of its own, as another process has them. */
function open(): Locks {
  const store = zookeeper(`zookeeper://${ensemble.hosts}`, { runtime: { ...nodeRuntime } })
  const locks = createLocks({ store, ttl: 20_000, callTimeout: 30_000 })
  opened.push(locks)
  return locks
}

/** The bytes of the transaction that would end each session with nodes, as the server reports them. */
async function bytesOfSessions(): Promise<readonly number[]> {
  const dump = (await ensemble.members[0]?.ask('dump')) ?? ''
  const [, ...sessions] = dump.slice(dump.indexOf('Sessions with Ephemerals')).split(/^0x/m)
  return sessions.map((session) => {
    const paths = session.split('\n').filter((line) => line.startsWith('\t'))
    return paths.reduce((sum, path) => sum + 4 + Buffer.byteLength(path.trim()), 0)
  })
}

const connections = () => ensemble.members[0]?.figure('zk_num_alive_connections')

it('no session has more nodes than fit one transaction, and empty sessions are closed', {
  timeout: 120_000,
}, async () => {
  const [holder, waiter] = [open(), open()]
  const keys = Array.from({ length: KEYS }, (_, index) => `many-${index}-`.padEnd(100, 'x'))
  const leases = await Promise.all(keys.map((key) => holder.acquire(key)))
  const waiting = Promise.allSettled(keys.map((key) => waiter.acquire(key, { wait: 60_000 })))
  await expect
    .poll(() => ensemble.members[0]?.figure('zk_ephemerals_count'), { timeout: 60_000 })
    .toBe(2 * KEYS)
  const bytes = await bytesOfSessions()
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(2 * KEYS * 100)
  expect(Math.max(...bytes)).toBeLessThan(BYTES_PER_SESSION)
  // Three for each process.
  expect(bytes.length).toBe(6)
  await waiter.close()
  await waiting
  await Promise.all(leases.map((lease) => lease.release()))
  // The one that stays, and the connection that asks.
  await expect.poll(connections, { timeout: 60_000, interval: 500 }).toBe(2)
})
