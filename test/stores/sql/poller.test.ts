import { FakeRuntime } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { nodeRuntime, type Runtime } from '../../../src/core/runtime.ts'
import {
  type ClaimRef,
  type ClaimStatus,
  type KeyTable,
  nameOfClaim,
} from '../../../src/stores/sql-server/tables/database.ts'
import { LocalWaiters } from '../../../src/stores/sql-server/tables/local-waiters.ts'
import { Poller } from '../../../src/stores/sql-server/tables/poller.ts'

const KEY = 'key'
/** The longest time that a waiter goes without a look, and a step of the clock on which they look together. */
const LONGEST_MS = 500 + 128

/** Waiters of a queue in which nothing moves, looked after by a poller; `looked` is told of each look. */
function standing(count: number, runtime: Runtime, looked: (claims: readonly ClaimRef[]) => void) {
  const find: KeyTable['find'] = async (claims) => {
    looked(claims)
    const places = claims.map(({ id }): [string, ClaimStatus] => [
      nameOfClaim(KEY, id),
      { kind: 'waiting', ticket: Number(id), expiresAtMs: Number.POSITIVE_INFINITY },
    ])
    const clock = { nowMs: runtime.nowMs(), stampUs: 0 }
    return { clock, statuses: new Map(places), heads: new Map([[KEY, [1, 2, 3]]]) }
  }
  const waiting: LocalWaiters = new LocalWaiters((waiter) => poller.schedule(waiter))
  const poller = new Poller({ find } as KeyTable, waiting, runtime)
  poller.switch(true)
  const join = () => {
    for (let id = 1; id <= count; id++) waiting.setPosition(String(id), KEY, id, runtime.nowMs())
  }
  return { join, poller, waiting }
}

it('200 waiters at rest are polled by few statements, and none is forgotten', async () => {
  const runtime = new FakeRuntime()
  const lookedAtMs = new Map<string, number>()
  let [looks, longestMs] = [0, 0]
  const { join, poller } = standing(200, runtime, (claims) => {
    looks++
    const nowMs = runtime.nowMs()
    for (const { id } of claims) {
      longestMs = Math.max(longestMs, nowMs - (lookedAtMs.get(id) ?? nowMs))
      lookedAtMs.set(id, nowMs)
    }
  })
  join()
  await runtime.advance(5000)
  looks = 0
  await runtime.advance(10_000)
  expect(looks).toBeLessThan(300)
  expect(lookedAtMs.size).toBe(200)
  expect(longestMs).toBeLessThanOrEqual(LONGEST_MS)
  poller.close()
  expect(runtime.pendingTimers).toBe(0)
})

it('a forgotten claim is no longer polled', async () => {
  const runtime = new FakeRuntime()
  const seen = new Set<string>()
  const { join, poller, waiting } = standing(3, runtime, (claims) => {
    for (const { id } of claims) seen.add(id)
  })
  join()
  waiting.forget('2')
  await runtime.advance(2000)
  expect([...seen].sort()).toEqual(['1', '3'])
  poller.close()
})

it('a waiter costs the same in a queue ten times as long', () => {
  const costOf = (count: number): number => {
    const { join, poller } = standing(count, nodeRuntime, () => {})
    const before = process.cpuUsage()
    join()
    const { user } = process.cpuUsage(before)
    poller.close()
    return user
  }
  const leastOf = (count: number) => Math.min(costOf(count), costOf(count), costOf(count))
  const few = leastOf(2000)
  expect(leastOf(20_000)).toBeLessThan(few * 40)
})
