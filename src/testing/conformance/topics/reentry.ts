import assert from 'node:assert/strict'
import { ConflictError, UnsupportedError } from '../../../errors.ts'
import { type Check, check, lacking, ordered, owning, permitting, sharing } from '../check.ts'

export const reentry: readonly Check[] = [
  check('a named owner joins its own hold from another process', owning, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    const first = await a.take(key, { owner })
    const second = await b.take(key, { owner }, 'the same owner must join its own hold')
    assert.equal(second.token, first.token, 'claims that share a hold share its token')
    await c.block(key, { owner: 'workflow 8' }, 'another owner must be blocked')
    await c.block(key, {}, 'a claim without an owner must be blocked')
  }),

  check('a hold lasts until its last claim is released', owning, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    const first = await a.take(key, { owner })
    const second = await b.take(key, { owner })
    assert.equal(await a.release(first.claim), 'released')
    await c.block(key, {}, 'the hold is not over before its last claim')
    assert.equal(await b.renew(second.claim), 'renewed')
    assert.equal(await b.release(second.claim), 'released')
    await c.take(key, {}, 'the last claim was released')
  }),

  check('the claims of one hold expire one by one', owning, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    const ttlMs = scene.ttlMs(300)
    const short = await a.take(key, { owner, ttlMs })
    const long = await b.take(key, { owner })
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal(await a.renew(short.claim), 'lost')
    assert.equal(await b.renew(long.claim), 'renewed', 'a claim must not end with another of its hold')
    await c.block(key)
    await b.release(long.claim)
    await c.take(key)
  }),

  check('claims without an owner never join', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    await a.take(key, { actor: 'the same actor' })
    await a.block(key, { actor: 'the same actor' }, 'only a named owner joins a hold')
  }),

  check('an owner joins its hold past the queue', [owning, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    await a.take(key, { owner })
    await b.block(key, { queue: true })
    await c.take(key, { owner }, 'an owner that waits behind those who wait for it would wait for ever')
  }),

  check('a hold that may be shared has no tokens to give away', owning, async (scene) => {
    const a = await scene.party()
    const { spare } = await a.take(scene.key(), { owner: 'workflow 7' })
    assert.equal(spare, 0, 'two processes would give away the same token')
  }),

  check('an owner that reads cannot join as a writer', [owning, sharing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    await a.take(key, { owner, mode: { kind: 'shared' } })
    const answer = await b.attempt(b.claim(key, { owner }))
    assert.ok(answer.kind === 'refused', 'an upgrade can never be granted and must be refused')
    assert.equal(answer.reason, 'upgrade')
    assert.ok(answer.message.length > 0)
  }),

  check('an owner joins its permits', [owning, permitting], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    const permits = (weight: number) => ({ kind: 'permits', limit: 3, weight }) as const
    await a.take(key, { owner, mode: permits(2) })
    await b.take(key, { owner, mode: permits(2) }, 'the same owner must join its own permits')
    await c.take(key, { mode: permits(1) }, 'joined permits must count once')
    await c.block(key, { mode: permits(1) })
  }),

  check('an owner does not get more permits for the price of fewer', [owning, permitting], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const owner = 'workflow 7'
    await a.take(key, { owner, mode: { kind: 'permits', limit: 3, weight: 1 } })
    const answer = await b.attempt(b.claim(key, { owner, mode: { kind: 'permits', limit: 3, weight: 2 } }))
    assert.ok(answer.kind === 'refused', 'an upgrade can never be granted and must be refused')
    assert.equal(answer.reason, 'upgrade')
  }),

  check('leases of one owner in two processes', owning, async (scene) => {
    const [a, b, c] = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const first = await a.acquire(key, { owner: 'workflow 7' })
    const second = await b.acquire(key, { owner: 'workflow 7', wait: 0 })
    assert.equal(second.token, first.token)
    await first.release()
    assert.equal(first.held, false)
    assert.ok(second.held)
    assert.equal(await c.tryAcquire(key), null)
    assert.equal(await second.release(), 'released')
    const next = await c.tryAcquire(key)
    assert.ok(next?.held)
  }),

  check('a claim for more than the owner has is a ConflictError', [owning, sharing], async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    await a.rw(key).read.acquire({ owner: 'workflow 7' })
    await assert.rejects(b.rw(key).write.acquire({ owner: 'workflow 7' }), ConflictError)
  }),

  check('a named owner is refused by a store that has none', lacking(owning), async (scene) => {
    const a = await scene.locks()
    await assert.rejects(a.acquire(scene.key(), { owner: 'workflow 7' }), UnsupportedError)
  }),
]
