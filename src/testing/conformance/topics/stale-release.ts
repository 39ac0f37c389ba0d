import assert from 'node:assert/strict'
import { type Check, check, remembering } from '../check.ts'

export const staleRelease: readonly Check[] = [
  check('a release with a strange id does not touch the hold', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.equal(await b.release(b.claim(key)), 'absent', 'only the id proves ownership')
    assert.equal(await a.renew(claim), 'renewed', 'the hold must survive the release of a stranger')
    await b.block(key, {}, 'the hold must survive the release of a stranger')
  }),

  check('a second release finds nothing', async (scene) => {
    const a = await scene.party()
    const { claim } = await a.take(scene.key())
    assert.equal(await a.release(claim), 'released')
    assert.equal(await a.release(claim), 'absent')
  }),

  check('a late duplicate of a release does not touch the next hold', async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    await a.release(claim)
    const next = await b.take(key)
    assert.equal(await a.release(claim), 'absent')
    assert.equal(await b.renew(next.claim), 'renewed', 'an old release must not end the new hold')
    await c.block(key)
  }),

  check('a release needs both the key and the id', async (scene) => {
    const a = await scene.party()
    const [key, other] = [scene.key('one'), scene.key('other')]
    const { claim } = await a.take(key)
    assert.equal(await a.release({ ...claim, key: other }), 'absent')
    assert.equal(await a.renew(claim), 'renewed')
  }),

  check('a release of a key that nobody ever claimed finds nothing', async (scene) => {
    const a = await scene.party()
    assert.equal(await a.release(a.claim(scene.key())), 'absent')
  }),

  check('a batch of releases answers every claim in its order', async (scene) => {
    const a = await scene.party()
    const [first, last] = [await a.take(scene.key('1')), await a.take(scene.key('2'))]
    const answers = await a.releaseAll([first.claim, a.claim(scene.key('3')), last.claim])
    assert.deepEqual(
      answers.map((answer) => answer.kind),
      ['released', 'absent', 'released'],
    )
  }),

  check('a hold can be released through another connection', remembering, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.equal(await b.release(claim), 'released', 'everything a store keeps is found from key and id')
    await b.take(key)
  }),

  check('a release ends renewal', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const { claim } = await a.take(key)
    await a.release(claim)
    assert.equal(await a.renew(claim), 'lost', 'a released claim must not be renewed')
    await a.take(key, {}, 'a renewal must not bring a released claim back')
  }),

  check('a lease is released once, and then over', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    assert.equal(await lease.release(), 'released')
    assert.equal(lease.held, false)
    assert.equal(lease.signal.aborted, false, 'a release is not a loss')
    const next = await b.acquire(key, { wait: 0 })
    await lease.release()
    assert.ok(next.held)
    assert.equal(await a.tryAcquire(key), null, 'a second release must not touch the next lease')
  }),
]
