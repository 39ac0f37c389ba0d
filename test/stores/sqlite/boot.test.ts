import { expect, test } from 'vitest'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { thisBoot } from '../../../src/stores/sqlite/boot.ts'
import { FakeRuntime } from '../../../src/testing/fake-runtime.ts'
import { claimOf } from './claims.ts'
import { ask, letGo, Machine, take } from './world.ts'

const DAY_MS = 24 * 3_600_000

test.each([
  ['forward', 365 * DAY_MS],
  ['back', -365 * DAY_MS],
])('a wall clock that jumps %s ends no hold, keeps none, and tokens rise all the same', async (_, jumpMs) => {
  const machine = new Machine()
  const [one, other] = [machine.open(), machine.open()]
  const first = claimOf('k', { ttlMs: 1000 })
  const token = await take(one, first)
  machine.runtime.shiftWall(jumpMs)
  await machine.runtime.advance(999)
  expect((await ask(other, claimOf('k', { queue: false }))).kind).toBe('blocked')
  expect(await one.renew([first])).toEqual([{ kind: 'renewed', contended: false }])
  await machine.runtime.advance(1000)
  expect(await take(other, claimOf('k'))).toBeGreaterThan(token)
})

test('a holder and a waiter of another boot are dead, and tokens rise over the restart', async () => {
  const machine = new Machine()
  const before = machine.open()
  const token = await take(before, claimOf('k', { ttlMs: 3_600_000 }))
  expect((await ask(before, claimOf('k', { ttlMs: 3_600_000 }))).kind).toBe('blocked')
  await before.close()
  machine.restart('boot-z')
  machine.runtime.shiftWall(-60_000)
  const after = machine.open()
  expect(await after.admin.read('k')).toMatchObject({ holders: [], queue: [], token })
  const claim = claimOf('k')
  expect(await take(after, claim)).toBeGreaterThan(token)
  expect(await letGo(after, claim)).toBe('released')
})

test('a hold of another boot cannot be renewed or released', async () => {
  const machine = new Machine()
  const claim = claimOf('k', { ttlMs: 3_600_000 })
  await take(machine.open(), claim)
  machine.restart('boot-a')
  const after = machine.open()
  expect(await after.renew([claim])).toEqual([{ kind: 'lost' }])
  expect(await after.release([claim])).toEqual([{ kind: 'absent' }])
})

test('without a boot id, a clock that went back reveals a restart of the machine', async () => {
  const machine = new Machine()
  machine.restart(null)
  await machine.runtime.advance(100_000)
  const claim = claimOf('k', { ttlMs: 60_000 })
  const before = machine.open()
  await take(before, claim)
  await machine.runtime.advance(50_000)
  await before.renew([claim])
  machine.restart(null)
  // Later than the grant was on the old clock, earlier than the last renewal.
  await machine.runtime.advance(120_000)
  expect((await ask(machine.open(), claimOf('k'))).kind).toBe('granted')
})

test('without a boot id, a hold that may still be alive is waited for', async () => {
  const machine = new Machine()
  machine.restart(null)
  await take(machine.open(), claimOf('k', { ttlMs: 60_000 }))
  machine.restart(null)
  const after = machine.open()
  await machine.runtime.advance(59_999)
  expect((await ask(after, claimOf('k', { queue: false }))).kind).toBe('blocked')
  await machine.runtime.advance(1)
  expect((await ask(after, claimOf('k'))).kind).toBe('granted')
})

test('every process reads the same clock, whenever it began to count', () => {
  const one = thisBoot(nodeRuntime)
  const late = new FakeRuntime()
  late.stall(1_000_000)
  const other = thisBoot(late)
  expect(other.id).toBe(one.id)
  const apartMs = other.originMs + late.nowMs() - (one.originMs + nodeRuntime.nowMs())
  expect(Math.abs(apartMs)).toBeLessThan(1000)
  if (process.platform === 'linux') expect(one.id).toMatch(/^[0-9a-f-]{36}$/)
})

test('a process that stalls while it compares the clocks is not behind the others', () => {
  const stillMs = 30
  let looks = 0
  const halting = {
    ...nodeRuntime,
    nowMs() {
      const untilMs = nodeRuntime.nowMs() + (looks++ < 3 ? stillMs : 0)
      while (nodeRuntime.nowMs() < untilMs);
      return nodeRuntime.nowMs()
    },
  }
  const apartMs = thisBoot(halting).originMs - thisBoot(nodeRuntime).originMs
  expect(Math.abs(apartMs)).toBeLessThan(stillMs / 4)
})
