import assert from 'node:assert/strict'
import { LeaseLostError, StoreError, UnsupportedError } from '../../../errors.ts'
import { type Check, check, delaying, lacking, ordered, sharing } from '../check.ts'
import { safe } from '../scene.ts'

/** Tolerance for clock drift and rounding. */
const earlyMs = (ttlMs: number) => ttlMs * 0.01 + 5

export const expiry: readonly Check[] = [
  check('a dead holder costs its ttl, not less and not much more', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    const sentAtMs = scene.runtime.nowMs()
    await a.take(key, { ttlMs })
    const next = await b.askUntilGranted(b.claim(key), scene.endedByMs(ttlMs), 'an expired hold must end')
    const lastedMs = next.atMs - sentAtMs
    safe(lastedMs >= ttlMs - earlyMs(ttlMs), `a hold of ${ttlMs} ms was taken over after ${lastedMs} ms`)
  }),

  check('a ttl is rounded up to the step of the store, never down', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { ttlStepMs } = scene.traits
    const ttlMs = ttlStepMs === 1 ? 333 : Math.round(ttlStepMs * 1.2)
    const sentAtMs = scene.runtime.nowMs()
    await a.take(key, { ttlMs })
    const next = await b.askUntilGranted(
      b.claim(key),
      scene.endedByMs(ttlMs + ttlStepMs),
      'an expired hold must end',
    )
    const lastedMs = next.atMs - sentAtMs
    safe(lastedMs >= ttlMs - earlyMs(ttlMs), `a hold of ${ttlMs} ms was taken over after ${lastedMs} ms`)
  }),

  check('an expired claim is neither renewed nor released', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(key, { ttlMs })
    await scene.eventually('an expired hold must not be shown', scene.endedByMs(ttlMs), async () => {
      return (await b.store.admin.read(key)).holders.length === 0
    })
    assert.equal(await a.renew(claim), 'lost', 'an expired claim must not be renewed')
    assert.equal(await a.release(claim), 'absent', 'there is nothing to release of an expired claim')
  }),

  check('an expired holder is not listed', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const ttlMs = scene.ttlMs(1000)
    await a.take(key, { ttlMs })
    assert.equal((await scene.list(a.store, key)).length, 1)
    await scene.eventually('an expired hold must leave the list', scene.endedByMs(ttlMs), async () => {
      return (await scene.list(a.store, key)).length === 0
    })
  }),

  check('a queue position ends with its ttl', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    await a.take(key)
    const dead = await b.block(key, { queue: true, ttlMs })
    const alive = await c.block(key, { queue: true })
    await scene.eventually(
      'the position of a dead waiter must go to the next',
      scene.endedByMs(ttlMs),
      async () => {
        const answer = await c.attempt(alive)
        return answer.kind === 'blocked' && answer.position === 1
      },
    )
    assert.equal(await b.renew(dead), 'lost', 'a position that expired must not be renewed')
  }),

  check('each reader has a ttl of its own', sharing, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const mode = { kind: 'shared' } as const
    const long = await a.take(key, { mode })
    const short = await b.take(key, { mode, ttlMs }, 'readers share a key')
    await scene.eventually('a reader must end with its own ttl', scene.endedByMs(ttlMs), async () => {
      return (await c.store.admin.read(key)).holders.length === 1
    })
    assert.equal(await b.renew(short.claim), 'lost')
    assert.equal(await a.renew(long.claim), 'renewed', 'a short-lived reader must not shorten the others')
    await c.block(key, {}, 'a writer must wait for the reader that is left')
  }),

  check('a waiting process gets the key of a dead one', async (scene) => {
    const { locks: dying, faults } = await scene.faultyLocks()
    const survivor = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(500)
    await dying.acquire(key, { ttl: ttlMs })
    const acquired = scene.begin(survivor.acquire(key))
    faults.cut()
    const lease = await scene.within(
      'the key of a dead process must be had',
      scene.endedByMs(ttlMs),
      acquired,
    )
    assert.ok(lease.held)
  }),

  check('a lease that is not renewed ends by itself, before the store gives the key away', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    const lease = await a.acquire(key, { ttl: ttlMs, renew: false })
    let lost: unknown = null
    lease.signal.addEventListener('abort', () => {
      lost = lease.signal.reason
    })
    const next = await b.acquire(key)
    assert.ok(next.held)
    safe(!lease.held, 'both leases count as held')
    assert.ok(lost instanceof LeaseLostError, 'the signal must fire with a LeaseLostError')
    assert.equal(await lease.release(), 'expired')
    assert.equal(lease.remainingMs(), 0)
  }),

  check('a lease counts from before its request was sent', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const gate = faults.hang('attempt', 'reply')
    const sentAtMs = scene.runtime.nowMs()
    const acquired = scene.begin(a.acquire(scene.key(), { ttl: 30_000, renew: false }))
    await gate.reached
    await scene.sleep(500)
    gate.open()
    const lease = await acquired
    const leftMs = 30_000 - (scene.runtime.nowMs() - sentAtMs)
    assert.ok(
      lease.remainingMs() <= leftMs,
      `${lease.remainingMs()} ms remain, the store has ${leftMs} at most`,
    )
  }),

  check('a grant that has run out when it arrives makes no holder', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const key = scene.key()
    const ttlMs = scene.ttlMs(400)
    const gate = faults.hang('attempt', 'reply')
    const rejected = scene.begin(assert.rejects(a.acquire(key, { ttl: ttlMs, wait: 0 }), StoreError))
    await gate.reached
    const next = await b.acquire(key)
    gate.open()
    await rejected
    assert.ok(next.held, 'the one who got the key after the expiry must keep it')
    assert.equal(await a.tryAcquire(key), null)
  }),

  check('a lock delay keeps the key closed after an expiry', delaying, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const lockDelayMs = 700
    const sentAtMs = scene.runtime.nowMs()
    await a.take(key, { ttlMs, lockDelayMs })
    const longestMs = scene.endedByMs(ttlMs + lockDelayMs)
    const next = await b.askUntilGranted(b.claim(key), longestMs, 'a lock delay must end')
    const closedMs = next.atMs - sentAtMs
    const leastMs = ttlMs + lockDelayMs - earlyMs(ttlMs + lockDelayMs)
    safe(closedMs >= leastMs, `the key was given away after ${closedMs} ms, within its lock delay`)
  }),

  check('a lock delay does not follow a release', delaying, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, { lockDelayMs: 30_000 })
    assert.equal(await a.release(claim), 'released')
    await b.take(key, {}, 'a key that was released is free at once, whatever its lock delay')
  }),

  check('a lock delay is refused by a store that has none', lacking(delaying), async (scene) => {
    const store = await scene.open()
    scene.onEnd(() => store.close())
    assert.throws(() => scene.locksOn(store, { lockDelay: 1000 }), UnsupportedError)
  }),
]
