import assert from 'node:assert/strict'
import { ConflictError, UnsupportedError } from '../../../errors.ts'
import type { Lease } from '../../../index.ts'
import { type Check, check, lacking, ordered, permitting, sharing } from '../check.ts'
import { grantedOf } from '../party.ts'
import { forgiveLoss, safe } from '../scene.ts'

const shared = { kind: 'shared' } as const
const permits = (limit: number, weight = 1) => ({ kind: 'permits', limit, weight }) as const

const readersAndWriters: readonly Check[] = [
  check('readers share a key', sharing, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    await a.take(key, { mode: shared })
    await b.take(key, { mode: shared }, 'readers must share')
    assert.equal((await a.store.admin.read(key)).holders.length, 2)
  }),

  check('a writer waits for the last reader', sharing, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const first = await a.take(key, { mode: shared })
    const second = await b.take(key, { mode: shared })
    await c.block(key, {}, 'a writer must not join readers')
    await a.release(first.claim)
    await c.block(key, {}, 'one reader is left')
    await b.release(second.claim)
    await c.take(key)
  }),

  check('a reader waits for the writer', sharing, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    await b.block(key, { mode: shared }, 'a reader must not join a writer')
    await a.release(claim)
    await b.take(key, { mode: shared })
  }),

  check('a waiting writer is not overtaken by later readers', [sharing, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, { mode: shared })
    const writer = await b.block(key, { queue: true })
    await c.block(key, { mode: shared }, 'a reader that comes after a waiting writer must wait too')
    const reader = await c.block(
      key,
      { mode: shared, queue: true },
      'a reader that comes after a waiting writer must wait too',
    )
    await a.release(claim)
    assert.equal((await c.attempt(reader)).kind, 'blocked', 'the writer came first')
    grantedOf(await b.attempt(writer), 'the writer must be served when the readers before it are gone')
  }),

  check('readers in the queue are let in together', [sharing, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const readers = [
      await b.block(key, { mode: shared, queue: true }),
      await c.block(key, { mode: shared, queue: true }),
    ]
    await a.release(claim)
    grantedOf(await b.attempt(readers[0] ?? claim), 'the first reader must be let in')
    grantedOf(await c.attempt(readers[1] ?? claim), 'the second reader must be let in beside the first')
  }),

  check('a writer that becomes a reader lets readers in and keeps writers out', sharing, async (scene) => {
    const [a, b, c] = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.rw(key).write.acquire()
    assert.equal(await b.rw(key).read.tryAcquire(), null)
    await lease.downgrade()
    assert.ok(lease.held)
    const reader = await b.rw(key).read.acquire({ wait: 3000 })
    assert.ok(reader.held)
    assert.equal(await c.rw(key).write.tryAcquire(), null)
    await reader.release()
    assert.equal(await c.rw(key).write.tryAcquire(), null, 'the downgraded lease is still there')
    await lease.release()
    const writer = await c.rw(key).write.tryAcquire()
    assert.ok(writer?.held)
  }),

  check('a writer that becomes a reader lets in the readers that wait', [sharing, ordered], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const reader = await b.block(key, { mode: shared, queue: true })
    grantedOf(await a.attempt({ ...claim, mode: shared }), 'a downgrade must be granted')
    grantedOf(await b.attempt(reader), 'a reader in the queue must be let in by the downgrade')
    assert.equal(await a.release(claim), 'released')
  }),

  check('a reader cannot become a writer', sharing, async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const { claim } = await a.take(key, { mode: shared })
    const answer = await a.attempt({ ...claim, mode: { kind: 'exclusive' } })
    assert.equal(answer.kind, 'refused', 'two readers that both wait to write would wait for ever')
  }),
]

const semaphores: readonly Check[] = [
  check('a semaphore admits up to its limit', permitting, async (scene) => {
    const parties = [await scene.party(), await scene.party()]
    const key = scene.key()
    const claims = parties.flatMap((party) =>
      Array.from({ length: 5 }, () => party.attempt(party.claim(key, { mode: permits(3) }))),
    )
    const granted = (await Promise.all(claims)).filter((answer) => answer.kind === 'granted').length
    assert.equal(granted, 3, `${granted} of 10 claims were admitted to 3 permits`)
  }),

  check('weights are counted', permitting, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const heavy = await a.take(key, { mode: permits(4, 3) })
    await b.block(key, { mode: permits(4, 2) }, '3 and 2 are more than 4')
    const light = await b.take(key, { mode: permits(4, 1) }, '3 and 1 are 4')
    await c.block(key, { mode: permits(4, 1) }, 'all 4 permits are taken')
    await b.release(light.claim)
    await c.take(key, { mode: permits(4, 1) }, 'a release must give back what was taken')
    await a.release(heavy.claim)
    await b.take(key, { mode: permits(4, 3) }, 'a release must give back its weight')
  }),

  check('a weight above the limit is refused', permitting, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const answer = await a.attempt(a.claim(key, { mode: permits(2, 3), queue: true }))
    assert.equal(answer.kind, 'refused', 'it would stand in the queue for ever')
    await b.take(key, { mode: permits(2, 2) }, 'a refused claim must leave nothing behind')
  }),

  check('permits of the dead come back', permitting, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    await a.take(key, { mode: permits(2, 2), ttlMs })
    const claim = b.claim(key, { mode: permits(2, 2) })
    await b.askUntilGranted(claim, scene.endedByMs(ttlMs), 'expired permits must be free')
  }),

  check('a heavy waiter is not overtaken by light ones', [permitting, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, { mode: permits(3, 2) })
    const heavy = await b.block(key, { mode: permits(3, 3), queue: true })
    await c.block(
      key,
      { mode: permits(3, 1) },
      'a light claim that comes later must wait behind the heavy one',
    )
    await a.release(claim)
    grantedOf(await b.attempt(heavy), 'the heavy waiter must be served when its permits are free')
  }),

  check('a release admits as many waiters as fit', [permitting, ordered], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, { mode: permits(2, 2) })
    const queue = true
    const waiters = [
      await b.block(key, { mode: permits(2, 1), queue }),
      await b.block(key, { mode: permits(2, 1), queue }),
      await b.block(key, { mode: permits(2, 1), queue }),
    ]
    await a.release(claim)
    const answers = []
    for (const waiter of waiters) answers.push((await b.attempt(waiter)).kind)
    assert.deepEqual(answers, ['granted', 'granted', 'blocked'])
  }),

  check('another limit for the same key is refused', permitting, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, { mode: permits(3) })
    const answer = await b.attempt(b.claim(key, { mode: permits(4), queue: true }))
    assert.ok(answer.kind === 'refused', 'two limits for one key must not both count')
    assert.equal(answer.reason, 'limit')
    assert.deepEqual((await a.store.admin.read(key)).queue, [], 'a refused claim must not join the queue')
    await a.release(claim)
    await b.take(key, { mode: permits(4) }, 'a free key may be used with another limit')
  }),

  check('a lock and a semaphore cannot share a key', permitting, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    for (const [held, wanted] of [
      [permits(3), { kind: 'exclusive' }],
      [{ kind: 'exclusive' }, permits(3)],
    ] as const) {
      const key = scene.key()
      await a.take(key, { mode: held })
      const answer = await b.attempt(b.claim(key, { mode: wanted, queue: true }))
      assert.ok(answer.kind === 'refused', `${wanted.kind} was not refused on a key in use as ${held.kind}`)
      assert.equal(answer.reason, 'mode')
    }
  }),

  check('a claim that contradicts the use of its key is a ConflictError', permitting, async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    await a.semaphore(key, { limit: 2 }).acquire()
    await assert.rejects(b.semaphore(key, { limit: 3 }).acquire(), ConflictError)
    await assert.rejects(b.acquire(key), ConflictError)
  }),

  check('two processes never exceed a semaphore’s limit', permitting, async (scene) => {
    const processes = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const inside = new Set<Lease>()
    let most = 0
    const work = async (lease: Lease): Promise<void> => {
      inside.add(lease)
      most = Math.max(most, [...inside].filter((other) => other.held).length)
      await scene.sleep(5)
      inside.delete(lease)
    }
    const runs = processes.flatMap((locks) => {
      const semaphore = locks.semaphore(key, { limit: 3 })
      return Array.from({ length: 6 }, () => semaphore.using({ wait: 20_000 }, work).catch(forgiveLoss))
    })
    await Promise.all(runs)
    safe(most <= 3, `${most} were inside a semaphore of 3`)
  }),
]

const refusals: readonly Check[] = [
  check('readers and writers are refused by a store that has none', lacking(sharing), async (scene) => {
    const a = await scene.locks()
    await assert.rejects(a.rw(scene.key()).read.acquire(), UnsupportedError)
  }),

  check('permits are refused by a store that has none', lacking(permitting), async (scene) => {
    const a = await scene.locks()
    await assert.rejects(async () => a.semaphore(scene.key(), { limit: 2 }).acquire(), UnsupportedError)
  }),
]

export const modes: readonly Check[] = [...readersAndWriters, ...semaphores, ...refusals]
