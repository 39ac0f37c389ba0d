import assert from 'node:assert/strict'
import type { Locks } from '../../../index.ts'
import { type Check, check, ordered } from '../check.ts'
import { grantedOf } from '../party.ts'
import { SOON_MS, SURVIVING_TTL_MS } from '../scene.ts'

export const waiting: readonly Check[] = [
  check('a waiter gets the key when it is released', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    const acquired = scene.begin(b.acquire(key))
    await scene.sleep(100)
    await lease.release()
    const next = await scene.within('a released key must reach the waiter', SOON_MS, acquired)
    assert.ok(next.held)
    assert.ok(next.waitedMs >= 50, `the lease says that it waited ${next.waitedMs} ms`)
  }),

  check(
    'a wait of a millisecond for a key that is held is a time-out, and never an outage',
    async (scene) => {
      const [a, b] = [await scene.locks(), await scene.locks()]
      const key = scene.key()
      await a.acquire(key)
      for (const ask of [b.mutex(key), b.rw(key).write]) {
        await assert.rejects(ask.acquire({ wait: 1 }), { code: 'LOCK_TIMEOUT' })
      }
    },
  ),

  check('three processes are served in the order in which they came', ordered, async (scene) => {
    const key = scene.key()
    const holder = await scene.locks()
    const lease = await holder.acquire(key)
    const served: number[] = []
    const waits: Promise<void>[] = []
    for (const number of [1, 2, 3]) {
      const locks = await scene.locks()
      const work = async (): Promise<void> => {
        served.push(number)
        await scene.sleep(20)
      }
      waits.push(scene.begin(locks.using(key, work)))
      await scene.eventually('a waiter must be seen in the queue', 3000, async () => {
        return (await locks.read(key)).queue.length === number
      })
    }
    await lease.release()
    await Promise.all(waits)
    assert.deepEqual(served, [1, 2, 3])
  }),

  check('a claim learns its position in the queue', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    await a.take(key)
    for (const [place, party] of [b, c, b].entries()) {
      const answer = await party.attempt(party.claim(key, { queue: true }))
      assert.ok(answer.kind === 'blocked')
      assert.equal(answer.position, place + 1)
    }
  }),

  check('a waiter learns who holds the key, wherever it stands in the queue', ordered, async (scene) => {
    const [a, b, c] = [await scene.party('holder'), await scene.party('first'), await scene.party('second')]
    const key = scene.key()
    await a.take(key)
    for (const party of [b, c]) {
      const answer = await party.attempt(party.claim(key, { queue: true }))
      assert.ok(answer.kind === 'blocked')
      const holder = await scene.eventually('who waits must learn for whom', SOON_MS, () => answer.holder)
      assert.equal(holder.label, 'holder')
    }
  }),

  check('a waiting claim that asks again keeps its position', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    await a.take(key)
    const first = await b.block(key, { queue: true })
    await c.block(key, { queue: true })
    const again = await b.attempt(first)
    assert.ok(again.kind === 'blocked')
    assert.equal(again.position, 1, 'a resent claim is the same claim')
    assert.equal(
      (await a.store.admin.read(key)).queue.length,
      2,
      'a resent claim must not stand in the queue twice',
    )
  }),

  check('a released key goes to the first in the queue, not to a newcomer', ordered, async (scene) => {
    const [a, b, c, d] = [await scene.party(), await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true })
    const second = await c.block(key, { queue: true })
    assert.equal(await a.release(claim), 'released')
    await d.block(key, {}, 'a newcomer must not overtake the queue')
    assert.equal(
      (await c.attempt(second)).kind,
      'blocked',
      'the second in the queue must not overtake the first',
    )
    grantedOf(await b.attempt(first), 'the first in the queue must be granted')
  }),

  check('a waiter keeps its position for as long as it is renewed', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(SURVIVING_TTL_MS)
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true, ttlMs })
    const second = await c.block(key, { queue: true })
    for (let renewal = 0; renewal < 6; renewal++) {
      await scene.sleep(ttlMs / 4)
      assert.ok(['waiting', 'renewed'].includes(await b.renew(first)), 'a queue position must be renewable')
    }
    await a.release(claim)
    assert.equal((await c.attempt(second)).kind, 'blocked', 'a renewed position must be kept')
    grantedOf(await b.attempt(first), 'a renewed position must be served')
  }),

  check('a dead waiter does not hold up the queue', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const { claim } = await a.take(key)
    await b.block(key, { queue: true, ttlMs })
    const alive = await c.block(key, { queue: true })
    await scene.sleep(ttlMs + scene.slackMs)
    await a.release(claim)
    grantedOf(await c.attempt(alive), 'the first living waiter must be granted, whoever died before it')
  }),

  check('a grant that is never confirmed is an offer, and goes to the next', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const silent = await b.block(key, { queue: true, ttlMs: 60_000 })
    const next = await c.block(key, { queue: true })
    await a.release(claim)
    await c.askUntilGranted(next, SOON_MS, 'an offer must end after about a second, not with its ttl')
    assert.equal(await b.renew(silent), 'lost', 'an offer that ended must not be renewed')
  }),

  check('a confirmed offer is a lease of full length', ordered, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const first = await b.block(key, { queue: true })
    await a.release(claim)
    assert.equal(await b.renew(first), 'renewed', 'the first renewal confirms an offer')
    await scene.sleep(2500)
    assert.equal(await b.renew(first), 'renewed', 'a confirmed offer must last for the ttl')
    await c.block(key)
  }),

  check('a holder learns that others wait', ordered, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.deepEqual(await a.renewAll([claim]), [{ kind: 'renewed', contended: false }])
    const waiter = await b.block(key, { queue: true })
    assert.deepEqual(await a.renewAll([claim]), [{ kind: 'renewed', contended: true }])
    await b.release(waiter)
    assert.deepEqual(await a.renewAll([claim]), [{ kind: 'renewed', contended: false }])
  }),

  check('a key passed to and fro is never left lying', async (scene) => {
    const processes = [await scene.locks({ handover: false }), await scene.locks({ handover: false })]
    const key = scene.key()
    let passes = 0
    const player = async (locks: Locks): Promise<void> => {
      for (let round = 0; round < 10; round++) await locks.using(key, () => void passes++)
    }
    // A lost wake-up that only a ttl repairs would take a minute here.
    await scene.within('twenty turns of two players', 10_000, Promise.all(processes.map(player)))
    assert.equal(passes, 20)
  }),

  check('a spinning waiter stands in no queue and gets the key', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    const acquired = scene.begin(b.acquire(key, { retry: { spin: 20 } }))
    await scene.sleep(100)
    assert.equal((await a.read(key)).queue.length, 0, 'retry by spinning must not join the queue')
    await lease.release()
    await scene.within('a spinning waiter must find the key free', SOON_MS, acquired)
  }),

  check('a busy process does not keep the key from another', ordered, async (scene) => {
    const [busy, other] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    let over = false
    const worker = async (): Promise<void> => {
      while (!over) await busy.using(key, () => scene.sleep(5))
    }
    const workers = scene.begin(Promise.all([worker(), worker(), worker(), worker()]))
    await scene.sleep(50)
    const acquired = scene.begin(other.acquire(key))
    try {
      const lease = await scene.within('hand-over inside a process must be bounded', 8000, acquired)
      await lease.release()
    } finally {
      over = true
      await workers
    }
  }),
]
