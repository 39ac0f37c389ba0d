import assert from 'node:assert/strict'
import { LockError, UnsupportedError } from '../../../errors.ts'
import type { LeaseJson } from '../../../index.ts'
import { adopting, type Check, check, fencing, lacking, ordered, pushing } from '../check.ts'
import { tokenOfGrant } from '../party.ts'
import { SOON_MS, SURVIVING_TTL_MS } from '../scene.ts'

export const adoption: readonly Check[] = [
  check('an adopted hold belongs to the new id alone', adopting, async (scene) => {
    const [a, b, c] = [await scene.party('the giver'), await scene.party('the taker'), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    const taken = await b.take(key, { replaces: given.claim.id }, 'a live hold must be adopted')
    assert.equal(await a.renew(given.claim), 'lost', 'the giver must have lost the key')
    assert.equal(await a.release(given.claim), 'absent', 'the giver has nothing to release')
    assert.equal(await b.renew(taken.claim), 'renewed')
    const { holders } = await c.store.admin.read(key)
    assert.deepEqual(
      holders.map((holder) => holder.label),
      ['the taker'],
    )
    assert.equal(await b.release(taken.claim), 'released')
    await c.take(key, {}, 'the taker released the key')
  }),

  check('an adoption raises the token', [adopting, fencing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    const taken = await b.take(key, { replaces: given.claim.id })
    const handed = tokenOfGrant(given) + BigInt(given.spare)
    assert.ok(tokenOfGrant(taken) > handed, `token ${taken.token}, but ${handed} may have been handed over`)
  }),

  check('an adoption goes past the queue, which stays as it is', [adopting, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    const waiter = await c.block(key, { queue: true })
    await b.take(key, { replaces: given.claim.id }, 'an adoption does not wait')
    const answer = await c.attempt(waiter)
    assert.ok(answer.kind === 'blocked')
    assert.equal(answer.position, 1)
  }),

  check('an adoption that is sent again is the same adoption', adopting, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    const taken = await b.take(key, { replaces: given.claim.id })
    const again = await b.attempt(taken.claim)
    assert.ok(again.kind === 'granted', 'the reply may have been lost')
    assert.equal(again.token, taken.token)
  }),

  check('a hold that is over cannot be adopted', adopting, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    await a.release(given.claim)
    const answer = await b.attempt(b.claim(key, { replaces: given.claim.id }))
    assert.ok(answer.kind === 'refused', 'an adoption must not take a key that its giver no longer has')
    assert.equal(answer.reason, 'absent')
    await c.take(key, {}, 'a refused adoption must leave nothing behind')
  }),

  check('of two adoptions of one hold one is granted', adopting, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    const replaces = given.claim.id
    const answers = await Promise.all([
      b.attempt(b.claim(key, { replaces })),
      c.attempt(c.claim(key, { replaces })),
    ])
    assert.deepEqual(answers.map((answer) => answer.kind).sort(), ['granted', 'refused'])
  }),

  check('the giver is told', [adopting, pushing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const given = await a.take(key)
    await b.take(key, { replaces: given.claim.id })
    const notice = await scene.eventually('the giver must be told', SOON_MS, () =>
      a.heard.find((notice) => notice.kind === 'lost' && notice.id === given.claim.id),
    )
    assert.ok(notice.kind === 'lost')
    assert.equal(notice.cause, 'adopted')
  }),

  check('a lease goes from one process to another', adopting, async (scene) => {
    const [a, b, c] = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const given = await a.acquire(key, { ttl: ttlMs })
    const text = JSON.stringify(given)
    const taken = await b.adopt(JSON.parse(text) as LeaseJson)
    assert.ok(taken.held)
    assert.notEqual(taken.id, given.id)
    assert.equal(taken.key, key)
    await scene.eventually('the giver’s lease must end', scene.endedByMs(ttlMs), () => !given.held)
    await scene.sleep(ttlMs)
    assert.ok(taken.held, 'the taker’s lease must be renewed')
    await given.release()
    assert.equal(await c.tryAcquire(key), null, 'the giver’s release must not touch the taker’s lease')
    assert.equal(await taken.release(), 'released')
    assert.ok(await c.tryAcquire(key))
  }),

  check('a lease that is over cannot be adopted', adopting, async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const given = await a.acquire(key)
    const json = JSON.parse(JSON.stringify(given)) as LeaseJson
    await given.release()
    await assert.rejects(b.adopt(json), LockError)
    assert.ok(await b.tryAcquire(key))
  }),

  check('adoption is refused by a store that has none', lacking(adopting), async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const lease = await a.acquire(scene.key())
    const json = JSON.parse(JSON.stringify(lease)) as LeaseJson
    await assert.rejects(b.adopt(json), UnsupportedError)
    assert.ok(lease.held)
  }),
]
