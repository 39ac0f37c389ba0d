import assert from 'node:assert/strict'
import { LeaseLostError } from '../../../errors.ts'
import { type Check, check, hooked, ordered, remembering } from '../check.ts'
import { SURVIVING_TTL_MS } from '../scene.ts'

export const renewal: readonly Check[] = [
  check('a lease outlives its ttl while it is renewed', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const lease = await a.acquire(key, { ttl: ttlMs })
    const { token } = lease
    for (let look = 0; look < 4; look++) {
      await scene.sleep(ttlMs / 2)
      assert.ok(lease.held, 'a lease that is renewed must be held')
      assert.equal(await b.tryAcquire(key), null, 'a key that is renewed must not be given away')
    }
    assert.equal(lease.token, token, 'a renewal must keep the token')
    assert.equal(await lease.release(), 'released')
  }),

  check('a renewal adds to the life of a claim', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(1000)
    const { claim } = await a.take(key, { ttlMs })
    assert.equal(await a.renew({ ...claim, ttlMs: 60_000 }), 'renewed')
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal(await a.renew(claim), 'renewed', 'a renewal for longer must make it longer')
    await b.block(key)
  }),

  check('a renewal never shortens', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(key)
    assert.equal(await a.renew({ ...claim, ttlMs }), 'renewed')
    await scene.sleep(ttlMs + scene.slackMs)
    await b.block(key, {}, 'a late duplicate of an older renewal must not cut a newer, longer one')
    assert.equal(await a.renew(claim), 'renewed')
  }),

  check('a renewal never creates', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    assert.equal(
      await a.renew(a.claim(key)),
      'lost',
      'there is nothing to renew of a claim that was never made',
    )
    await b.take(key, {}, 'a renewal must not create a hold')
  }),

  check('a renewal does not bring back what expired', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(key, { ttlMs })
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal(await a.renew(claim), 'lost', 'a lost lock stays lost, although the key is free')
    await b.take(key, {}, 'a renewal must not take the key again')
    assert.equal(await a.renew(claim), 'lost')
  }),

  check('a batch of renewals answers every claim in its order', ordered, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const [own, strange, busy] = [scene.key('own'), scene.key('strange'), scene.key('busy')]
    const { claim } = await a.take(own)
    await b.take(busy)
    const waiting = await a.block(busy, { queue: true })
    const answers = await a.renewAll([a.claim(strange), claim, waiting])
    const kinds = answers.map((answer) => answer.kind)
    assert.deepEqual(kinds.slice(0, 2), ['lost', 'renewed'])
    assert.ok(['waiting', 'renewed'].includes(kinds[2] as string))
  }),

  check('a renewal keeps token and holder', async (scene) => {
    const a = await scene.party('the holder')
    const key = scene.key()
    const { claim, token } = await a.take(key)
    await a.renew(claim)
    const { holders } = await a.store.admin.read(key)
    assert.equal(holders.length, 1)
    assert.equal(holders[0]?.label, 'the holder')
    assert.equal(holders[0]?.token, token)
  }),

  check('many leases are kept alive together', async (scene) => {
    const a = await scene.locks()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const leases = await Promise.all(
      Array.from({ length: 12 }, (_, index) => a.acquire(scene.key(String(index)), { ttl: ttlMs })),
    )
    await scene.sleep(ttlMs * 2)
    assert.equal(leases.filter((lease) => lease.held).length, 12, 'every lease must be renewed')
    assert.deepEqual(
      new Set(await Promise.all(leases.map((lease) => lease.release()))),
      new Set(['released']),
    )
  }),

  check('extend gives a lease a new ttl', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(1000)
    const lease = await a.acquire(key, { ttl: ttlMs, renew: false })
    await lease.extend(60_000)
    assert.ok(lease.remainingMs() > 50_000, `${lease.remainingMs()} ms remain of an extension by 60 s`)
    await scene.sleep(ttlMs + scene.slackMs)
    assert.ok(lease.held)
    assert.equal(await b.tryAcquire(key), null)
  }),

  check('a lease that is over cannot be extended', async (scene) => {
    const a = await scene.locks()
    const ttlMs = scene.ttlMs(300)
    const lease = await a.acquire(scene.key(), { ttl: ttlMs, renew: false })
    await scene.sleep(ttlMs + scene.slackMs)
    await assert.rejects(lease.extend(60_000), LeaseLostError)
    assert.equal(lease.held, false)
  }),

  check('renewal stops when the lease was held for as long as it may be', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    const lease = await a.acquire(key, { ttl: ttlMs, maxHold: ttlMs * 2 })
    const next = await scene.within(
      'maxHold must end a lease',
      scene.endedByMs(ttlMs * 3),
      b.acquire(key, { wait: 20_000 }),
    )
    assert.equal(lease.held, false)
    assert.ok(next.held)
  }),

  check(
    'a holder whose connection breaks keeps its lease',
    [hooked('disconnect'), remembering],
    async (scene) => {
      const store = await scene.open()
      const a = scene.locksOn(store)
      const b = await scene.locks()
      const key = scene.key()
      const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
      const lease = await a.acquire(key, { ttl: ttlMs })
      await scene.hooks.disconnect?.(store)
      await scene.sleep(ttlMs * 1.5)
      assert.ok(lease.held, 'the store must connect again and renew')
      assert.equal(await b.tryAcquire(key), null)
      assert.equal(await lease.release(), 'released')
    },
  ),

  check('renewal and release survive what servers go through', hooked('disturb'), async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    await scene.hooks.disturb?.()
    await lease.extend(60_000)
    assert.equal(await b.tryAcquire(key), null)
    await scene.hooks.disturb?.()
    assert.equal(await lease.release(), 'released')
    await scene.hooks.disturb?.()
    const next = await b.tryAcquire(key)
    assert.ok(next?.held)
  }),
]
