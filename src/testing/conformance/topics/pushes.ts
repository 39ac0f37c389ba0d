import assert from 'node:assert/strict'
import type { Lease } from '../../../index.ts'
import { type Check, check, hooked, ordered, pushing } from '../check.ts'
import { grantedOf } from '../party.ts'
import { SOON_MS, safe } from '../scene.ts'

/** Pushes to a waiter, and a message that is lost, late or doubled. */
export const pushes: readonly Check[] = [
  check('a waiter is told of its grant without asking', [ordered, pushing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true })
    await a.release(claim)
    const notice = await scene.eventually('the store says that it pushes, and must', SOON_MS, () =>
      b.heard.find((notice) => notice.kind === 'granted' && notice.id === first.id),
    )
    assert.ok(notice.kind === 'granted')
    assert.equal(notice.key, key)
    const { token } = grantedOf(await b.attempt(first), 'what was pushed must be true')
    // On a busy machine the offer may have expired, and this may be a new grant.
    assert.ok(
      token === null || token >= (notice.token ?? 0n),
      `token ${token}, but ${notice.token} was pushed`,
    )
    assert.equal(
      a.heard.filter((heard) => heard.kind === 'granted').length,
      0,
      'a grant is for its claimant alone',
    )
  }),

  check('a holder is told when the first waiter comes', [ordered, pushing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    await b.block(key, { queue: true })
    await scene.eventually('the holder must be told that others wait', SOON_MS, () =>
      a.heard.some((notice) => notice.kind === 'contended' && notice.id === claim.id),
    )
  }),

  check('a lost push is made up for', pushing, async (scene) => {
    const a = await scene.locks()
    const { locks: deaf, faults } = await scene.faultyLocks()
    const key = scene.key()
    const lease = await a.acquire(key)
    faults.notices({ kind: 'drop' })
    const acquired = scene.begin(deaf.acquire(key, { wait: 20_000 }))
    await scene.sleep(100)
    await lease.release()
    const next = await scene.within('a waiter that hears nothing must look by itself', 15_000, acquired)
    assert.ok(next.held)
  }),

  check('a push that comes twice makes one lease', pushing, async (scene) => {
    const a = await scene.locks()
    const { locks: b, faults } = await scene.faultyLocks()
    const key = scene.key()
    faults.notices({ kind: 'double' })
    const leases: Lease[] = [await a.acquire(key)]
    const waits = [1, 2].map(() => scene.begin(b.acquire(key).then((lease) => leases.push(lease))))
    await scene.sleep(100)
    for (let turn = 0; turn < 3; turn++) {
      await scene.eventually('the next must be served', 5000, () => leases.length === turn + 1)
      await scene.sleep(20)
      safe(leases.filter((lease) => lease.held).length <= 1, 'two leases are held at once')
      assert.ok(leases[turn]?.held, 'the one that was served must be held')
      await leases[turn]?.release()
    }
    await Promise.all(waits)
  }),

  check('a push that comes after its offer ended makes no holder', [ordered, pushing], async (scene) => {
    const a = await scene.locks()
    const { locks: slow, faults } = await scene.faultyLocks()
    const c = await scene.party()
    const key = scene.key()
    const ttlMs = scene.ttlMs(1000)
    const offerEndsMs = scene.endedByMs(ttlMs)
    const lease = await a.acquire(key)
    faults.notices({ kind: 'delay', ms: offerEndsMs + 500 })
    const acquired = scene.begin(slow.acquire(key, { ttl: ttlMs, wait: 20_000 }))
    await scene.eventually('the slow one must join the queue', SOON_MS, async () => {
      return (await a.read(key)).queue.length === 1
    })
    faults.every('attempt', { kind: 'lose request' })
    faults.every('renew', { kind: 'lose request' })
    await lease.release()
    const taken = await c.askUntilGranted(c.claim(key), offerEndsMs, 'an offer must end')
    faults.every('attempt', { kind: 'none' })
    faults.every('renew', { kind: 'none' })
    let slowGotIt = false
    const served = scene.begin(
      acquired.then((lease) => {
        // An attempt sent before the faults may have been granted: that lease has ended by now, and is no second holder.
        slowGotIt = lease.held
      }),
    )
    await scene.sleep(offerEndsMs + 1000)
    safe(!slowGotIt, 'a late push must not make a second holder')
    assert.equal(await c.release(taken.claim), 'released')
    await scene.within('the slow one must be served in the end', 10_000, served)
  }),

  check('a waiter whose connection breaks is served all the same', hooked('disconnect'), async (scene) => {
    const a = await scene.locks()
    const store = await scene.open()
    const b = scene.locksOn(store)
    const key = scene.key()
    const lease = await a.acquire(key)
    const acquired = scene.begin(b.acquire(key, { wait: 20_000 }))
    await scene.sleep(100)
    await scene.hooks.disconnect?.(store)
    await lease.release()
    const next = await scene.within('a broken connection must not cost the wake-up', 15_000, acquired)
    assert.ok(next.held)
  }),
]
