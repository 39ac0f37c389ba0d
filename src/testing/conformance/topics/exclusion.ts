import assert from 'node:assert/strict'
import { LockTimeoutError } from '../../../errors.ts'
import type { Lease, Locks } from '../../../index.ts'
import { type Check, check, remembering } from '../check.ts'
import { forgiveLoss, safe } from '../scene.ts'

export const exclusion: readonly Check[] = [
  check('a held key is not granted to another process', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    await a.take(key)
    await b.block(key)
  }),

  check('two claims through one connection exclude each other', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    await a.take(key)
    await a.block(key, {}, 'a connection is not an owner: its second claim must be blocked')
  }),

  check('of many claims at the same moment exactly one is granted', async (scene) => {
    const parties = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const claims = parties.flatMap((party) =>
      Array.from({ length: 6 }, () => ({ party, claim: party.claim(key) })),
    )
    const answers = await Promise.all(claims.map(({ party, claim }) => party.attempt(claim)))
    const granted = answers.filter((answer) => answer.kind === 'granted').length
    assert.equal(granted, 1, `${granted} of ${claims.length} claims for one key were granted`)
  }),

  check('of several claims for one key in one call only the first is granted', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const answers = await a.attemptAll([a.claim(key), a.claim(key), a.claim(key)])
    assert.deepEqual(
      answers.map((answer) => answer.kind),
      ['granted', 'blocked', 'blocked'],
    )
  }),

  check('a batch answers every claim in its order', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const [free, busy, alsoFree] = [scene.key('1'), scene.key('2'), scene.key('3')]
    await a.take(busy)
    const answers = await b.attemptAll([b.claim(free), b.claim(busy), b.claim(alsoFree)])
    assert.deepEqual(
      answers.map((answer) => answer.kind),
      ['granted', 'blocked', 'granted'],
    )
  }),

  check('an empty batch is answered with nothing', async (scene) => {
    const a = await scene.party()
    assert.deepEqual(await a.attemptAll([]), [])
    assert.deepEqual(await a.renewAll([]), [])
    assert.deepEqual(await a.releaseAll([]), [])
  }),

  check('a blocked claim that does not queue leaves nothing behind', async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const blocked = await b.block(key)
    const { queue } = await b.store.admin.read(key)
    assert.equal(queue.length, 0, 'a claim with queue: false must not join the queue')
    assert.equal(await a.release(claim), 'released')
    await c.take(key, {}, 'the key is free: nobody waits for it')
    assert.equal(await b.renew(blocked), 'lost', 'a claim that was blocked without queueing is forgotten')
  }),

  check('different keys do not stand in each other’s way', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    await a.take(scene.key('left'))
    await b.take(scene.key('right'))
  }),

  check('the key is free once it was released', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.equal(await a.release(claim), 'released')
    await b.take(key, {}, 'a released key must be granted to the next')
  }),

  check('tryAcquire gives null while another process holds the key', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    assert.equal(await b.tryAcquire(key), null)
    assert.equal(await lease.release(), 'released')
    const next = await b.tryAcquire(key)
    assert.ok(next?.held, 'a released key must be had by tryAcquire')
  }),

  check('a wait that ends in contention names the holder', remembering, async (scene) => {
    const [a, b] = [await scene.locks({ label: 'the holder' }), await scene.locks()]
    const key = scene.key()
    await a.acquire(key)
    await assert.rejects(b.acquire(key, { wait: 0 }), (error) => {
      assert.ok(
        error instanceof LockTimeoutError,
        `contention must be a LockTimeoutError, not ${String(error)}`,
      )
      assert.equal(error.holder, 'the holder')
      return true
    })
  }),

  check('two acquires of one process exclude each other', async (scene) => {
    const a = await scene.locks()
    const key = scene.key()
    const lease = await a.acquire(key)
    assert.equal(await a.tryAcquire(key), null)
    assert.ok(lease.held)
  }),

  check('a counter under contention of three processes loses no update', async (scene) => {
    const processes = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const inside = new Set<Lease>()
    let counter = 0
    let updates = 0
    const increment = async (lease: Lease): Promise<void> => {
      safe(![...inside].some((other) => other.held), 'two leases on one key are held at once')
      inside.add(lease)
      const read = counter
      await scene.sleep(1)
      if (lease.held) {
        counter = read + 1
        updates++
      }
      inside.delete(lease)
    }
    const worker = async (locks: Locks): Promise<void> => {
      for (let round = 0; round < 3; round++) {
        await locks.using(key, { wait: 20_000 }, increment).catch(forgiveLoss)
      }
    }
    await Promise.all(processes.flatMap((locks) => [worker(locks), worker(locks), worker(locks)]))
    safe(counter === updates, `${updates} updates of holders made the counter ${counter}`)
    assert.ok(updates > 20, `of 27 leases only ${updates} were held for a millisecond`)
  }),
]
