import { connect, type Locks } from 'holdfast'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { ZooKeeperClient } from '../../../src/stores/zookeeper/client/client.ts'

let ensemble: Ensemble
const opened: Locks[] = []

beforeAll(async () => {
  ensemble = await startZooKeeper({ size: 1 })
})

afterAll(async () => {
  await Promise.all(opened.map((locks) => locks.close()))
  await ensemble.stop()
})

async function open(user: string): Promise<Locks> {
  const locks = await connect(`zookeeper://${user}${ensemble.hosts}/safe/locks`, { ttl: 5000 })
  opened.push(locks)
  return locks
}

it('locks, waits and keeps records for one user', async () => {
  const [one, two] = [await open('ann:se%40cret@'), await open('ann:se%40cret@')]
  const lease = await one.acquire('key')
  const next = two.acquire('key', { wait: 10_000 })
  await expect.poll(async () => (await one.read('key')).queue.length, { timeout: 5000 }).toBe(1)
  await lease.release()
  expect((await next).token).toBeGreaterThan(lease.token as bigint)
  await (await next).release()
  expect(await one.once('request', { ttl: '1m' }, () => 'done')).toBe('done')
})

it.each([
  ['another user', 'bob:other@'],
  ['a wrong password', 'ann:guessed@'],
  ['nobody', ''],
])('refuses %s, and says so without the password', async (_, user) => {
  const using = async () => (await open(user)).using('key', () => {})
  const error = await using().then(
    () => null,
    (reason: Error) => reason,
  )
  expect(error).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringMatching(/credentials/) })
  expect(error?.message).not.toMatch(/guessed|other/)
})

it('gives every node to its user only', async () => {
  const ann = await open('ann:se%40cret@')
  await using(ann)
  const [port = 0] = ensemble.ports
  const nothing = () => {}
  const stranger = new ZooKeeperClient(
    { servers: [{ host: '127.0.0.1', port }], timeoutMs: 3000, auth: null, tls: null, runtime: nodeRuntime },
    { connected: nothing, disconnected: nothing, expired: nothing },
  )
  await stranger.session.ready(5000)
  const lease = await ann.acquire('seen')
  for (const path of ['/safe/locks', '/safe/locks/locks', '/safe/locks/locks/seen'])
    await expect(stranger.list(path), path).rejects.toMatchObject({ reason: 'NoAuth' })
  await lease.release()
  await stranger.session.close()
})

async function using(locks: Locks): Promise<void> {
  await locks.using('key', () => {})
}
