import assert from 'node:assert/strict'
import { ClosedError } from '../../../errors.ts'
import type { Locks } from '../../../index.ts'
import { type Check, check, ordered } from '../check.ts'
import { grantedOf } from '../party.ts'
import { type Scene, SOON_MS } from '../scene.ts'

export const cancel: readonly Check[] = [
  check('a cancelled wait rejects with the caller’s reason and leaves the queue', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    const controller = new AbortController()
    const acquired = scene.begin(b.acquire(key, { signal: controller.signal }))
    await scene.sleep(100)
    const reason = new Error('changed my mind')
    controller.abort(reason)
    await assert.rejects(acquired, (error) => error === reason)
    await lineOf(scene, a, key, 0)
    assert.ok(lease.held)
  }),

  check('a signal that has fired already asks for nothing', async (scene) => {
    const a = await scene.locks()
    const key = scene.key()
    await assert.rejects(a.acquire(key, { signal: AbortSignal.abort(new Error('too late')) }), /too late/)
    assert.deepEqual((await a.read(key)).holders, [])
  }),

  check('the one behind a cancelled waiter is served', async (scene) => {
    const [a, b, c] = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    const controller = new AbortController()
    const cancelled = scene.begin(b.acquire(key, { signal: controller.signal }))
    await scene.sleep(100)
    const acquired = scene.begin(c.acquire(key))
    await scene.sleep(100)
    controller.abort()
    await assert.rejects(cancelled)
    await lease.release()
    const next = await scene.within('the next waiter must be served', SOON_MS, acquired)
    assert.ok(next.held)
  }),

  check('a wait that times out leaves the queue', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    await a.acquire(key)
    const startedAtMs = scene.runtime.nowMs()
    await scene.timesOut(b.acquire(key, { wait: 3000 }))
    const waitedMs = scene.runtime.nowMs() - startedAtMs
    assert.ok(waitedMs >= 990, `a wait of 1000 ms ended after ${waitedMs} ms`)
    await lineOf(scene, a, key, 0)
  }),

  check('closing a process that waits takes it out of the queue', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    await a.acquire(key)
    const acquired = scene.begin(b.acquire(key))
    const rejected = scene.begin(assert.rejects(acquired, ClosedError))
    await scene.sleep(100)
    await b.close()
    await rejected
    await lineOf(scene, a, key, 0)
  }),

  check('cancelling one waiter of a process leaves its other waiter in peace', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    const controller = new AbortController()
    const cancelled = scene.begin(b.acquire(key, { signal: controller.signal }))
    const acquired = scene.begin(b.acquire(key))
    await scene.sleep(100)
    controller.abort()
    await assert.rejects(cancelled)
    await lease.release()
    const next = await scene.within('the other waiter must be served', SOON_MS, acquired)
    assert.ok(next.held)
  }),

  check('a queue position is given up by a release', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true })
    const second = await c.block(key, { queue: true })
    assert.equal(await b.release(first), 'released', 'a queue position is something to release')
    const answer = await c.attempt(second)
    assert.ok(answer.kind === 'blocked')
    assert.equal(answer.position, 1, 'those behind must move up')
    assert.equal(await b.renew(first), 'lost', 'a position that was given up must not be renewed')
    await a.release(claim)
    grantedOf(await c.attempt(second), 'the one behind must be served')
  }),

  check('a waiter that leaves when it was just granted passes the key on', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true })
    const second = await c.block(key, { queue: true })
    await a.release(claim)
    assert.equal(await b.release(first), 'released', 'the offer was there and must be given up')
    grantedOf(await c.attempt(second), 'the key must go to the next in the queue')
  }),

  check('cancel and grant at the same moment leave no ghost', async (scene) => {
    const [a, b, c] = [await scene.locks(), await scene.locks(), await scene.locks()]
    for (let round = 0; round < 6; round++) {
      const key = scene.key(String(round))
      const lease = await a.acquire(key)
      const controller = new AbortController()
      const acquired = scene.begin(b.acquire(key, { signal: controller.signal }))
      await scene.sleep(20)
      const released = scene.begin(lease.release())
      if (round % 3 === 1) await Promise.resolve()
      if (round % 3 === 2) await scene.sleep(1)
      controller.abort(new Error('cancelled'))
      const won = await acquired.catch(() => null)
      await released
      await won?.release()
      const next = await scene.within('nobody holds the key', SOON_MS, c.acquire(key))
      await next.release()
    }
  }),
]

async function lineOf(scene: Scene, locks: Locks, key: string, length: number): Promise<void> {
  await scene.eventually(`the queue must have ${length} waiters`, SOON_MS, async () => {
    return (await locks.read(key)).queue.length === length
  })
}
