import { connect, type KeyView, type Locks } from 'holdfast'
import { expect, it, onTestFinished } from 'vitest'
import { startCluster } from '../../../scripts/servers/cluster.ts'
import { slotOf } from '../../../src/stores/redis/cluster/slots.ts'
import { lockName } from '../../../src/stores/redis/names.ts'

/** The deadline of a call is five seconds; a silent server of several is given up well before it. */
const PROMPT_MS = 4000
/** The first master has a third of the slots. */
const FIRST_SLOTS = 5461

async function promptly<T>(work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now()
  const result = await work()
  expect(performance.now() - beganMs).toBeLessThan(PROMPT_MS)
  return result
}

async function listOf(locks: Locks): Promise<{ keys: string[]; error: Error }> {
  const views: KeyView[] = []
  const collect = async () => {
    for await (const view of locks.list()) views.push(view)
  }
  const error = await collect().then(
    () => expect.fail('a list that misses a server must say so'),
    (reason) => reason,
  )
  return { keys: views.map(({ key }) => key).sort(), error }
}

it('one frozen master of a cluster hides only its own keys, and is named', async () => {
  // Nobody takes its place, so that it stays the master of its slots.
  const alone = ['--cluster-replica-no-failover', 'yes', '--cluster-require-full-coverage', 'no']
  const cluster = await startCluster(alone)
  onTestFinished(() => cluster.stop())
  const locks = await connect(`${cluster.url}?check=off`)
  onTestFinished(() => locks.close())
  const keys = Array.from({ length: 30 }, (_, number) => `key ${number}`)
  const visible = keys.filter((key) => slotOf(lockName(key)) >= FIRST_SLOTS).sort()
  const free = keys.map((key) => `free ${key}`).filter((key) => slotOf(lockName(key)) >= FIRST_SLOTS)
  await Promise.all(keys.map((key) => locks.acquire(key, { ttl: '60s' })))
  const { server } = cluster.nodes[0] as (typeof cluster.nodes)[number]
  process.kill(server.pid, 'SIGSTOP')
  onTestFinished(() => void process.kill(server.pid, 'SIGCONT'))

  // Its address comes first in the URL, too.
  const other = await promptly(() => connect(`${cluster.url}?check=off`))
  onTestFinished(() => other.close())
  for (const each of [locks, other]) {
    const { keys: seen, error } = await promptly(() => listOf(each))
    expect(seen).toEqual(visible)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(error.message).toContain('1 of 3 servers of the Redis cluster')
    expect(error.message).toContain(`127.0.0.1:${server.port}`)
    await promptly(async () => {
      for (const key of free) await each.using(key, () => {})
    })
  }
  const diagnosis = await promptly(() => other.doctor().catch((reason) => reason))
  expect(diagnosis.message).toContain(`127.0.0.1:${server.port}`)
})
