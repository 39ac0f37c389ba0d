import assert from 'node:assert/strict'
import { LockTimeoutError, StoreError } from '../../../errors.ts'
import type { Locks } from '../../../index.ts'
import { type Check, check, ordered, remembering } from '../check.ts'
import { grantedOf } from '../party.ts'
import { type Scene, SOON_MS, SURVIVING_TTL_MS } from '../scene.ts'

export const unknownOutcomes: readonly Check[] = [
  check('a resent claim is the same claim', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const first = await a.take(key)
    const again = grantedOf(
      await a.attempt(first.claim),
      'a resent claim is the same claim and holds the key already',
    )
    assert.equal(again.token, first.token, 'a resent claim must keep its token')
    assert.equal((await b.store.admin.read(key)).holders.length, 1, 'a resent claim must not hold twice')
    assert.equal(await a.release(first.claim), 'released')
    await b.take(key, {}, 'one release must end a claim, however often it was sent')
  }),

  check('a resent claim is known through another connection', remembering, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const first = await a.take(key)
    const again = grantedOf(await b.attempt(first.claim), 'a reconnected process must find its claim')
    assert.equal(again.token, first.token)
  }),

  check('a resent claim gets its full ttl again', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(key, { ttlMs })
    grantedOf(await a.attempt({ ...claim, ttlMs: 60_000 }), 'a resent claim holds the key already')
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal(await a.renew(claim), 'renewed', 'an attempt that finds its own hold re-arms the full ttl')
    await b.block(key)
  }),

  check('a renewal may be sent twice', async (scene) => {
    const a = await scene.party()
    const { claim } = await a.take(scene.key())
    assert.deepEqual(await Promise.all([a.renew(claim), a.renew(claim)]), ['renewed', 'renewed'])
    assert.equal(await a.release(claim), 'released')
  }),

  check('of two releases at the same moment one finds the hold', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const { claim } = await a.take(scene.key())
    const answers = await Promise.all([a.release(claim), b.release(claim)])
    assert.deepEqual(answers.sort(), ['absent', 'released'])
  }),

  check('an acquire whose request is lost holds nothing', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    faults.next('attempt', { kind: 'lose request' })
    await assert.rejects(a.acquire(key, { wait: 0 }), StoreError)
    await freeSoon(scene, b, key)
  }),

  check('an acquire whose reply is lost is undone', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    faults.next('attempt', { kind: 'lose reply' })
    await assert.rejects(a.acquire(key, { wait: 0 }), StoreError)
    await freeSoon(scene, b, key)
  }),

  check('a queue position whose reply is lost is given up', ordered, async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    await b.acquire(key)
    faults.next('attempt', { kind: 'lose reply' })
    await assert.rejects(a.acquire(key, { wait: 300 }))
    await scene.eventually('nobody must be left in the queue', SOON_MS, async () => {
      return (await b.read(key)).queue.length === 0
    })
  }),

  check('an acquire whose reply hangs settles in time and is undone', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks({ callTimeout: 500 })
    const b = await scene.locks()
    const key = scene.key()
    const gate = faults.hang('attempt', 'reply')
    const rejected = scene.begin(assert.rejects(a.acquire(key, { wait: 0 }), StoreError))
    await scene.within('a call that hangs must be given up', 3000, rejected)
    await freeSoon(scene, b, key)
    gate.open()
    await freeSoon(scene, b, key)
  }),

  check('a request that arrives when its caller gave up costs one ttl at most', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks({ callTimeout: 300 })
    const b = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    const gate = faults.hang('attempt', 'request')
    await assert.rejects(a.acquire(key, { wait: 0, ttl: ttlMs }), StoreError)
    await scene.sleep(100)
    gate.open()
    const acquired = scene.begin(b.acquire(key))
    const lease = await scene.within('a ghost must end with its ttl', scene.endedByMs(ttlMs), acquired)
    assert.ok(lease.held)
  }),

  check('a request that arrives twice makes one lease', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    faults.next('attempt', { kind: 'duplicate', afterMs: 0 })
    const lease = await a.acquire(key)
    await scene.sleep(100)
    assert.ok(lease.held)
    assert.equal(await b.tryAcquire(key), null)
    assert.equal(await lease.release(), 'released')
    await freeSoon(scene, b, key)
  }),

  check('renewals and releases that arrive twice do no harm', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    faults.every('renew', { kind: 'duplicate', afterMs: 50 })
    faults.every('release', { kind: 'duplicate', afterMs: 100 })
    const lease = await a.acquire(key, { ttl: scene.ttlMs(SURVIVING_TTL_MS) })
    await scene.sleep(scene.ttlMs(SURVIVING_TTL_MS) * 1.2)
    assert.ok(lease.held)
    await lease.release()
    const next = await b.acquire(key)
    await scene.sleep(300)
    assert.ok(next.held)
    assert.equal(await a.tryAcquire(key), null, 'the duplicate of an old call must not touch the next lease')
  }),

  check('a release whose reply is lost says so, and the key is free', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    const lease = await a.acquire(key)
    faults.every('release', { kind: 'lose reply' })
    await assert.rejects(lease.release(), StoreError)
    await freeSoon(scene, b, key)
  }),

  check('a release whose request is lost costs one ttl at most', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    const lease = await a.acquire(key, { ttl: ttlMs })
    faults.every('release', { kind: 'lose request' })
    await assert.rejects(lease.release(), StoreError)
    assert.equal(lease.held, false, 'whoever gave the key up must not count on it')
    const next = await scene.within('the hold must end with its ttl', scene.endedByMs(ttlMs), b.acquire(key))
    assert.ok(next.held)
  }),

  check('using hides a release that failed, and tells of it', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    let told = 0
    a.on('releaseFailed', () => told++)
    faults.every('release', { kind: 'lose request' })
    const result = await a.using(scene.key(), { ttl: scene.ttlMs(300) }, () => 'the result')
    assert.equal(result, 'the result')
    assert.equal(told, 1)
  }),

  check('an outage is not contention', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    faults.every('attempt', { kind: 'lose request' })
    await assert.rejects(
      a.tryAcquire(scene.key()),
      StoreError,
      'tryAcquire must not say "busy" when it does not know',
    )
    await assert.rejects(a.acquire(scene.key(), { wait: 400 }), (error) => {
      assert.ok(!(error instanceof LockTimeoutError), 'a wait that ends in an outage is no LockTimeoutError')
      assert.ok(error instanceof StoreError)
      return true
    })
  }),

  check('a waiter survives an outage that is shorter than its wait', async (scene) => {
    const a = await scene.locks()
    const { locks: b, faults } = await scene.faultyLocks()
    const key = scene.key()
    const lease = await a.acquire(key)
    const acquired = scene.begin(b.acquire(key, { wait: 20_000, ttl: scene.ttlMs(1000) }))
    await scene.sleep(100)
    faults.cut()
    await scene.sleep(scene.ttlMs(1000) + scene.slackMs)
    faults.heal()
    await scene.sleep(100)
    await lease.release()
    const next = await scene.within('the waiter must come back after the outage', 15_000, acquired)
    assert.ok(next.held)
  }),
]

/** Well before any ttl, which is a minute here. */
async function freeSoon(scene: Scene, locks: Locks, key: string): Promise<void> {
  const lease = await scene.within('the key must be free', SOON_MS, locks.acquire(key, { wait: 20_000 }))
  await lease.release()
}
