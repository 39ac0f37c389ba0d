import assert from 'node:assert/strict'
import { ClosedError } from '../../../errors.ts'
import { type Check, check, ordered, permitting, pushing, sharing } from '../check.ts'
import { SOON_MS } from '../scene.ts'

export const cleanUp: readonly Check[] = [
  check('nothing in use remains after the last release', [ordered, sharing, permitting], async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const stem = scene.key()
    await a.using(`${stem}mutex`, () => {})
    await b.rw(`${stem}rw`).write.using(() => {})
    await b.rw(`${stem}rw`).read.using(() => {})
    await a.semaphore(`${stem}permits`, { limit: 2 }).using(() => {})
    const lease = await a.acquire(`${stem}busy`)
    await assert.rejects(b.acquire(`${stem}busy`, { wait: 100 }))
    await lease.release()
    const lister = await scene.party()
    await scene.eventually('every key must be free', SOON_MS, async () => {
      return (await scene.list(lister.store, stem)).length === 0
    })
  }),

  check('closing releases what is held', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const keys = [scene.key('1'), scene.key('2')]
    const leases = await Promise.all(keys.map((key) => a.acquire(key)))
    await a.close()
    assert.ok(leases.every((lease) => !lease.held))
    for (const key of keys)
      assert.ok(await b.tryAcquire(key), 'closing must release, not leave it to the ttl')
  }),

  check('closing may be done twice', async (scene) => {
    const a = await scene.locks()
    await a.acquire(scene.key())
    await Promise.all([a.close(), a.close()])
    await a.close()
  }),

  check('closed locks refuse to work', async (scene) => {
    const a = await scene.locks()
    await a.close()
    await assert.rejects(a.acquire(scene.key()), ClosedError)
    await assert.rejects(a.tryAcquire(scene.key()), ClosedError)
  }),

  check('closing one connection leaves the others in peace', async (scene) => {
    const a = await scene.party()
    const store = await scene.open()
    const key = scene.key()
    const { claim } = await a.take(key)
    await store.close()
    assert.equal(await a.renew(claim), 'renewed')
    const b = await scene.party()
    await b.block(key)
    assert.equal(await a.release(claim), 'released')
  }),

  check('a listener that was taken away hears nothing more', [ordered, pushing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    let heard = 0
    const stop = b.store.notices(() => heard++)
    stop()
    const waiter = await b.block(key, { queue: true })
    await a.release(claim)
    await scene.eventually('the other listener must hear', SOON_MS, () => {
      return b.heard.some((notice) => notice.kind === 'granted' && notice.id === waiter.id)
    })
    assert.equal(heard, 0)
  }),

  check('notices go to the process that they are about', [ordered, pushing], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const waiter = await b.block(key, { queue: true })
    await a.release(claim)
    await scene.eventually('the waiter must hear', SOON_MS, () => {
      return b.heard.some((notice) => notice.kind === 'granted' && notice.id === waiter.id)
    })
    const strange = [...a.heard, ...c.heard].filter((notice) => notice.id === waiter.id)
    assert.deepEqual(strange, [], 'an id is a proof of ownership and must not be told to others')
  }),

  check('traits are complete', async (scene) => {
    const { traits } = scene
    assert.ok(traits.name.length > 0)
    assert.ok(traits.modes.includes('exclusive'), 'every store has the exclusive mode')
    assert.ok(['fifo', 'race'].includes(traits.order))
    assert.ok(['strict', 'until data loss', 'none'].includes(traits.fencing))
    assert.ok(['push', 'poll'].includes(traits.wakeUp))
    assert.ok(Number.isInteger(traits.ttlStepMs) && traits.ttlStepMs >= 1)
    assert.ok(
      traits.scope.length > 0 && traits.failover.length > 0,
      'scope and failover are one sentence each',
    )
    const { store } = await scene.party()
    assert.equal(
      store.records !== null,
      traits.records,
      'records must be there if and only if the traits promise them',
    )
  }),
]
