import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EtcdCluster, startEtcd } from '../../../scripts/servers/etcd.ts'
import { Operator } from './operator.ts'
import { Visitors } from './visitors.ts'

const TTL_MS = 2000
/** A lease ends within three seconds, a leader is elected within two, and a busy machine is slow. */
const RECOVERY_MS = 20_000
const PROCESSES = 4

let cluster: EtcdCluster
let operator: Operator
let visitors: Visitors

beforeAll(async () => {
  cluster = await startEtcd({ parted: true })
  operator = new Operator(cluster.endpoints)
  visitors = new Visitors(PROCESSES, cluster.endpoints, 'key', TTL_MS)
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

afterAll(async () => {
  visitors.kill()
  await cluster.stop()
})

it('goes on when the leader is killed under load', async () => {
  const leader = await cluster.leader()
  await leader.kill()
  await visitors.allCome(RECOVERY_MS)
  await leader.restart()
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('goes on when a follower is cut off from the others, whoever is connected to it', async () => {
  const leader = await cluster.leader()
  const follower = cluster.members.find((member) => member !== leader) ?? leader
  await cluster.part(follower)
  await visitors.allCome(RECOVERY_MS)
  cluster.heal()
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('goes on when the leader is cut off from the others', async () => {
  await cluster.part(await cluster.leader())
  await visitors.allCome(RECOVERY_MS)
  cluster.heal()
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('goes on when the leader stands still for longer than a ttl and wakes up again', async () => {
  const leader = await cluster.leader()
  leader.pause()
  await sleep(TTL_MS * 2)
  leader.resume()
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('goes on when a process stands still for longer than its ttl', async () => {
  for (const who of [0, 1]) {
    process.kill(visitors.pid(who), 'SIGSTOP')
    await sleep(TTL_MS * 2)
    process.kill(visitors.pid(who), 'SIGCONT')
  }
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('goes on when all members are killed and started again', async () => {
  await Promise.all(cluster.members.map((member) => member.kill()))
  await sleep(500)
  await cluster.start()
  await visitors.allCome(RECOVERY_MS)
}, 60_000)

it('has let nobody in beside another all the time, and tokens have risen', async () => {
  await visitors.end()
  expect(visitors.visits.length).toBeGreaterThan(PROCESSES * 10)
  expect(visitors.contradictions()).toEqual([])
}, 60_000)

it('leaves no key and no lease behind when everybody is gone', async () => {
  await expect
    .poll(async () => [await operator.countKeys(), await operator.countLeases()], { timeout: 10_000 })
    .toEqual([0, 0])
}, 60_000)
