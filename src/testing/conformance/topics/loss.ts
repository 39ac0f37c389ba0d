import assert from 'node:assert/strict'
import { LeaseLostError } from '../../../errors.ts'
import { type Check, check, pushing, remembering } from '../check.ts'
import { SOON_MS, SURVIVING_TTL_MS, safe } from '../scene.ts'

export const loss: readonly Check[] = [
  check('a lease whose renewal hangs ends before the store gives the key away', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    const lease = await a.acquire(key, { ttl: ttlMs })
    for (let call = 0; call < 5; call++) faults.hang('renew')
    const next = await b.acquire(key)
    safe(!lease.held, 'both leases count as held')
    assert.ok(lease.signal.aborted, 'the signal must fire by the lease’s own timer')
    assert.ok(next.held)
  }),

  check('a renewal that fails once does not cost the lease', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const lease = await a.acquire(key, { ttl: ttlMs })
    faults.next('renew', { kind: 'lose request' })
    await scene.sleep(ttlMs * 1.5)
    assert.ok(lease.held, 'a renewal that failed must be tried again in time')
    assert.equal(await b.tryAcquire(key), null)
  }),

  check('a renewal whose reply is lost does not cost the lease', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const lease = await a.acquire(key, { ttl: ttlMs })
    faults.next('renew', { kind: 'lose reply' })
    await scene.sleep(ttlMs * 1.5)
    assert.ok(lease.held)
    assert.equal(await lease.release(), 'released')
  }),

  check('an outage longer than the ttl costs the lease, once and for all', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    let told = 0
    a.on('lost', (event) => {
      if (event.key === key) told++
    })
    const lease = await a.acquire(key, { ttl: ttlMs })
    const fired: unknown[] = []
    lease.signal.addEventListener('abort', () => fired.push(lease.signal.reason))
    faults.every('renew', { kind: 'lose request' })
    await scene.eventually(
      'the lease must end by itself',
      ttlMs + 1000,
      () => !lease.held && fired.length > 0,
    )
    faults.heal()
    await scene.sleep(ttlMs * 2)
    assert.equal(lease.held, false, 'a lost lease must stay lost')
    assert.equal(told, 1, 'a loss is told once')
    assert.equal(fired.length, 1)
    assert.ok(fired[0] instanceof LeaseLostError)
    assert.throws(() => lease.assertHeld(), LeaseLostError)
  }),

  check('an evicted lease is lost', remembering, async (scene) => {
    const [a, operator] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(1000)
    const lease = await a.acquire(key, { ttl: ttlMs })
    await operator.evict(key)
    await scene.eventually('an evicted lease must be lost', scene.endedByMs(ttlMs), () => !lease.held)
    assert.ok(lease.signal.reason instanceof LeaseLostError)
    assert.equal(await lease.release(), 'expired')
  }),

  check('an evicted holder is told', pushing, async (scene) => {
    const [a, operator] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    await operator.store.admin.evict(key, null, false)
    const notice = await scene.eventually('the holder must be told of its loss', SOON_MS, () =>
      a.heard.find((notice) => notice.kind === 'lost' && notice.id === claim.id),
    )
    assert.ok(notice.kind === 'lost')
    assert.equal(notice.cause, 'evicted')
    assert.equal(notice.key, key)
  }),

  check(
    'using rejects when the lease was lost, and keeps what the work returned',
    remembering,
    async (scene) => {
      const [a, operator] = [await scene.locks(), await scene.locks()]
      const key = scene.key()
      const ttlMs = scene.ttlMs(600)
      const used = a.using(key, { ttl: ttlMs }, async (lease) => {
        await operator.evict(key)
        await scene.eventually('an evicted lease must be lost', scene.endedByMs(ttlMs), () => !lease.held)
        return 'done all the same'
      })
      await assert.rejects(used, (error) => {
        assert.ok(
          error instanceof LeaseLostError,
          `a lost lease must be a LeaseLostError, not ${String(error)}`,
        )
        assert.equal(error.result, 'done all the same')
        return true
      })
    },
  ),

  check('the error of the work wins over the loss', remembering, async (scene) => {
    const [a, operator] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(600)
    const failure = new Error('the work failed')
    const used = a.using(key, { ttl: ttlMs }, async (lease) => {
      await operator.evict(key)
      await scene.eventually('an evicted lease must be lost', scene.endedByMs(ttlMs), () => !lease.held)
      throw failure
    })
    await assert.rejects(used, (error) => error === failure)
  }),

  check('a released lease is never told as lost', async (scene) => {
    const a = await scene.locks()
    const ttlMs = scene.ttlMs(1000)
    let told = 0
    a.on('lost', () => told++)
    const lease = await a.acquire(scene.key(), { ttl: ttlMs })
    await lease.release()
    await scene.sleep(ttlMs + scene.slackMs)
    assert.equal(told, 0)
    assert.equal(lease.signal.aborted, false)
  }),
]
