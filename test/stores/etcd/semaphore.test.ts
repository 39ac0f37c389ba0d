import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { afterAll, expect, it } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'

const LIMIT = 10
const PROCESSES = 4
const WAITERS = 40

const cluster = await startEtcd({ members: 1 })
afterAll(() => cluster.stop())

it('a semaphore that was full is full again while claims wait for it', async () => {
  const all = Array.from({ length: PROCESSES }, () =>
    createLocks({ store: etcd({ endpoints: cluster.endpoints }), wait: 30_000 }),
  )
  const [first] = all
  if (first === undefined) throw new Error('there are several')
  const before = await Promise.all(
    Array.from({ length: LIMIT }, () => first.semaphore('pool', { limit: LIMIT }).acquire()),
  )
  let running = 0
  const visits: { startMs: number; endMs: number; running: number }[] = []
  const work = Array.from({ length: WAITERS }, (_, index) =>
    all[index % PROCESSES]?.semaphore('pool', { limit: LIMIT }).using(async () => {
      const visit = { startMs: performance.now(), endMs: 0, running: ++running }
      visits.push(visit)
      // Not all of the same length, so that they leave one by one and some together.
      await sleep(200 + (index % 4) * 50)
      running--
      visit.endMs = performance.now()
    }),
  )
  await expect.poll(async () => (await first.read('pool')).queue.length).toBeGreaterThanOrEqual(LIMIT)
  await Promise.all(before.map((lease) => lease.release()))
  await Promise.all(work)
  await Promise.all(all.map((locks) => locks.close()))
  const lastStartMs = Math.max(...visits.map(({ startMs }) => startMs))
  const spanMs = lastStartMs - (visits[0]?.startMs ?? 0)
  const usedMs = visits.reduce((sum, { startMs, endMs }) => sum + Math.min(endMs, lastStartMs) - startMs, 0)
  expect(Math.max(...visits.map(({ running }) => running)), 'never more than the limit').toBe(LIMIT)
  expect(visits.filter(({ running }) => running === LIMIT).length, 'full again and again').toBeGreaterThan(
    LIMIT,
  )
  expect(usedMs / spanMs, 'on average').toBeGreaterThan(7)
})
