import { expect, test } from 'vitest'
import { type Party, Scene } from './support.ts'

test('waiters keep their positions while the store accepts heartbeats and no attempts, and get their grants', async () => {
  const scene = new Scene()
  const holder = scene.party()
  const held = await scene.runtime.until(holder.locks.acquire('a', { ttl: 60_000 }))
  const join = async ({ locks, faults }: Party) => {
    const waiting = locks.acquire('a', { ttl: 2000, wait: '1m' })
    await scene.runtime.drain()
    faults.every('attempt', { kind: 'lose request' })
    return { waiting }
  }
  const first = await join(scene.party())
  const second = await join(scene.party())
  await scene.runtime.advance(10_000)
  expect((await holder.locks.read('a')).queue).toHaveLength(2)
  await scene.runtime.until(held.release())
  await scene.runtime.until((await scene.runtime.until(first.waiting)).release())
  expect((await scene.runtime.until(second.waiting)).held).toBe(true)
  expect(scene.runtime.nowMs()).toBeLessThan(11_000)
})
