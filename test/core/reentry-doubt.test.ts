import type { AcquireOptions } from 'holdfast'
import { expect, test } from 'vitest'
import { failure, type Party, Scene } from './support.ts'

const TTL_MS = 3000
const OUTER = { reentrant: true, ttl: TTL_MS }

/** One that enters again after something happened to its lease. */
function again(
  scene: Scene,
  { locks }: Party,
  happens: () => unknown,
  options: AcquireOptions = {},
): Promise<{ inner: bigint | null; outer: bigint | null; held: boolean; waited: number }> {
  return locks.using('a', OUTER, async (outer) => {
    await happens()
    const sinceMs = scene.runtime.nowMs()
    return locks.using('a', { ...OUTER, ...options }, async (inner) => ({
      inner: inner.token,
      outer: outer.token,
      held: inner.held,
      waited: scene.runtime.nowMs() - sinceMs,
    }))
  })
}

test.each<[string, (scene: Scene) => void]>([
  ['a stall', ({ runtime }) => runtime.stall(2500)],
  ['a short sleep', ({ runtime }) => runtime.shiftWall(1000)],
])('after %s, a context that holds the key proves it and enters', async (_, happens) => {
  const scene = new Scene()
  const party = scene.party()
  const { inner, outer, held, waited } = await scene.runtime.until(again(scene, party, () => happens(scene)))
  expect(inner).toBe(outer)
  expect(held).toBe(true)
  expect(waited).toBe(0)
  expect(party.calls).toMatchObject({ attempt: 1, renew: 1, release: 1 })
})

test('a proof that fails at first is tried again, as long as the request waits', async () => {
  const scene = new Scene()
  const party = scene.party()
  const happens = () => {
    scene.runtime.stall(2500)
    party.faults.next('renew', { kind: 'lose request' })
  }
  const { inner, outer, held } = await scene.runtime.until(again(scene, party, happens))
  expect(inner).toBe(outer)
  expect(held).toBe(true)
})

test('a lease that was lost in the stall is no longer entered: the key is taken anew', async () => {
  const scene = new Scene()
  const party = scene.party()
  const seen: boolean[] = []
  const both = party.locks.using('a', OUTER, async (outer) => {
    scene.runtime.stall(2500)
    await scene.party().locks.evict('a')
    await party.locks.using('a', OUTER, async (inner) => {
      seen.push(inner.held, outer.held, inner.token === outer.token)
    })
  })
  expect((await scene.runtime.until(failure(both))).code).toBe('LEASE_LOST')
  expect(seen).toEqual([true, false, false])
})

test('a store that says nothing ends the wait with an outage, and the signal ends it at once', async () => {
  const scene = new Scene()
  const [party, other] = [scene.party(), scene.party()]
  const silent =
    ({ faults }: Party) =>
    () => {
      scene.runtime.stall(2500)
      faults.hang('renew')
    }
  const error = await scene.runtime.until(failure(again(scene, party, silent(party), { wait: 100 })))
  expect(error).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('wait of 100 ms'),
  })

  const controller = new AbortController()
  const cancelled = again(scene, other, silent(other), { signal: controller.signal })
  await scene.runtime.drain()
  controller.abort(new Error('enough'))
  expect((await scene.runtime.until(failure(cancelled))).message).toBe('enough')
})
