import assert from 'node:assert/strict'
import { type Check, check, fencing, remembering } from '../check.ts'
import { type GrantedClaim, type Party, tokenOfGrant } from '../party.ts'
import { type Scene, safe } from '../scene.ts'

export const takeover: readonly Check[] = [
  check('after a takeover the old claim cannot renew', async (scene) => {
    const { a, old, b, next } = await takeOver(scene)
    assert.equal(await a.renew(old.claim), 'lost', 'the old owner must have lost the key')
    assert.equal(await b.renew(next.claim), 'renewed', 'the new owner must be the owner')
  }),

  check('after a takeover the old claim cannot release', async (scene) => {
    const { a, old, b, next } = await takeOver(scene)
    assert.equal(await a.release(old.claim), 'absent', 'the old owner has nothing to release')
    assert.equal(await b.renew(next.claim), 'renewed', 'the old owner’s release must not touch the new hold')
  }),

  check('after a takeover the new claim releases the key', async (scene) => {
    const { a, b, next } = await takeOver(scene)
    assert.equal(await b.release(next.claim), 'released', 'the new owner must be able to release')
    await a.take(next.claim.key, {}, 'the key was released by its owner')
  }),

  check('after a takeover the old claim, sent again, is blocked', async (scene) => {
    const { a, old } = await takeOver(scene)
    const answer = await a.attempt(old.claim)
    assert.equal(answer.kind, 'blocked', 'a late duplicate of the old claim must not be granted')
  }),

  check('after a takeover only the new holder is shown', remembering, async (scene) => {
    const { a, b, next } = await takeOver(scene)
    const { holders } = await a.store.admin.read(next.claim.key)
    assert.deepEqual(
      holders.map((holder) => holder.label),
      [b.label],
    )
  }),

  check('a takeover raises the token', fencing, async (scene) => {
    const { old, next } = await takeOver(scene)
    assert.ok(tokenOfGrant(next) > tokenOfGrant(old), `token ${next.token} after ${old.token}`)
  }),

  check('a late release of a lease that was taken over harms nobody', async (scene) => {
    const { locks: dying, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const c = await scene.party()
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    const old = await dying.acquire(key, { ttl: ttlMs })
    faults.cut()
    const next = await b.acquire(key)
    faults.heal()
    safe(!old.held, 'the old lease must be over before the key is given away')
    assert.equal(await old.release(), 'expired')
    assert.ok(next.held)
    await c.block(key, {}, 'the new lease must outlive the old one’s late release')
  }),
]

interface Takeover {
  readonly a: Party
  readonly old: GrantedClaim
  readonly b: Party
  readonly next: GrantedClaim
}

/** The first party's hold expires, and the second's replaces it. */
async function takeOver(scene: Scene): Promise<Takeover> {
  const [a, b] = [await scene.party('the old one'), await scene.party('the new one')]
  const key = scene.key()
  const ttlMs = scene.ttlMs(300)
  const old = await a.take(key, { ttlMs })
  const next = await b.askUntilGranted(b.claim(key), scene.endedByMs(ttlMs), 'an expired hold must end')
  return { a, old, b, next }
}
