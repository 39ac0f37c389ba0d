import assert from 'node:assert/strict'
import type { Locks } from '../../../index.ts'
import { type Check, check, fencing, grouping, permitting } from '../check.ts'
import { grantedOf, type Party } from '../party.ts'
import { type Scene, SOON_MS } from '../scene.ts'

export const severalKeys: readonly Check[] = [
  check('a group is granted together', grouping, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const claims = group(scene, a, ['1', '2', '3'])
    for (const answer of await a.attemptAll(claims)) grantedOf(answer, 'a group of free keys must be granted')
    for (const { key } of claims) await b.block(key)
  }),

  check('a group with one busy key is not granted at all', grouping, async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const claims = group(scene, b, ['1', '2', '3']).map((claim) => ({ ...claim, queue: true }))
    const busy = claims[1]?.key ?? ''
    await a.take(busy)
    const kinds = (await b.attemptAll(claims)).map((answer) => answer.kind)
    assert.ok(!kinds.includes('granted'), `half a group was granted: ${kinds.join(', ')}`)
    for (const { key } of claims) {
      assert.deepEqual((await a.store.admin.read(key)).queue, [], 'a group never joins a line')
      if (key !== busy) await c.take(key, {}, 'a group that was not granted must leave its keys free')
    }
  }),

  check('a group with a refused claim is not granted at all', [grouping, permitting], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const claims = group(scene, b, ['1', '2'])
    const used = claims[1]?.key ?? ''
    await a.take(used, { mode: { kind: 'permits', limit: 2, weight: 1 } })
    const kinds = (await b.attemptAll(claims)).map((answer) => answer.kind)
    assert.ok(!kinds.includes('granted'), `half a group was granted: ${kinds.join(', ')}`)
    assert.ok(kinds.includes('refused'), 'a group that can never be granted must be refused')
    await c.take(claims[0]?.key ?? '', {}, 'a group that was not granted must leave its keys free')
  }),

  check('claims beside a group do not suffer from it', grouping, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const claims = group(scene, b, ['1', '2'])
    await a.take(claims[0]?.key ?? '')
    const alone = b.claim(scene.key('alone'))
    const answers = await b.attemptAll([...claims, alone])
    grantedOf(answers[2], 'a claim outside the group must be granted')
  }),

  check('of two groups that overlap one is granted', grouping, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const [left, middle, right] = scene.kin('left', 'middle', 'right') as [string, string, string]
    const claimsOf = (party: Party, keys: string[]) => {
      const name = scene.runtime.newId()
      return keys.map((key) => party.claim(key, { group: name }))
    }
    const answers = await Promise.all([
      a.attemptAll(claimsOf(a, [left, middle])),
      b.attemptAll(claimsOf(b, [right, middle])),
    ])
    const granted = answers.map((each) => each.filter((answer) => answer.kind === 'granted').length).sort()
    assert.deepEqual(granted, [0, 2], 'one group must be granted wholly, the other not at all')
  }),

  check('a resent group is the same group', grouping, async (scene) => {
    const a = await scene.party()
    const claims = group(scene, a, ['1', '2'])
    const tokens = async () =>
      (await a.attemptAll(claims)).map((answer) => grantedOf(answer, 'a group must be granted').token)
    assert.deepEqual(await tokens(), await tokens())
    await a.releaseAll(claims)
    for (const { key } of claims)
      await a.take(key, {}, 'one release must end a claim, however often it was sent')
  }),

  check('all holds every key and releases every key', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const keys = [scene.key('1'), scene.key('2'), scene.key('3')]
    const lease = await a.all(keys)
    assert.equal(lease.leases.length, 3)
    assert.ok(lease.held)
    for (const key of keys) assert.equal(await b.tryAcquire(key), null)
    await lease.release()
    for (const key of keys) assert.ok(await b.tryAcquire(key), 'every key must be released')
  }),

  check('all waits for a busy key and then has every key', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const keys = [scene.key('1'), scene.key('2')]
    const busy = await a.acquire(keys[1] ?? '')
    const acquired = scene.begin(b.all(keys))
    await scene.sleep(100)
    await busy.release()
    const lease = await scene.within('all must be served when its keys are free', SOON_MS, acquired)
    for (const key of keys) assert.equal(await a.tryAcquire(key), null)
    assert.ok(lease.held)
  }),

  check('all that times out leaves nothing behind', async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const stem = scene.key()
    const keys = [`${stem}1`, `${stem}2`, `${stem}3`]
    const busy = await a.acquire(keys[2] ?? '')
    await scene.timesOut(b.all(keys, { wait: 3000 }))
    await busy.release()
    await noneInUse(scene, a, stem)
  }),

  check('all whose reply is lost leaves nothing behind', async (scene) => {
    const { locks: a, faults } = await scene.faultyLocks()
    const b = await scene.locks()
    const stem = scene.key()
    faults.next('attempt', { kind: 'lose reply' })
    const lease = await a.all([`${stem}1`, `${stem}2`], { wait: 2000 }).catch(() => null)
    await lease?.release()
    await noneInUse(scene, b, stem)
  }),

  check(
    'processes that ask for the same keys in another order do not block each other for ever',
    async (scene) => {
      const [a, b] = [await scene.locks(), await scene.locks()]
      const keys = [scene.key('1'), scene.key('2'), scene.key('3')]
      const worker = async (locks: Locks, order: string[]): Promise<void> => {
        for (let round = 0; round < 4; round++) {
          const lease = await locks.all(order, { wait: 20_000 })
          assert.ok(lease.leases.every((each) => each.held))
          await lease.release()
        }
      }
      const runs = Promise.all([
        worker(a, keys),
        worker(b, [...keys].reverse()),
        worker(a, [...keys].reverse()),
      ])
      await scene.within('a dead-lock', 15_000, runs)
    },
  ),

  check('each key of a group has a token of its own', [grouping, fencing], async (scene) => {
    const a = await scene.locks()
    const keys = [scene.key('1'), scene.key('2')]
    const before = []
    for (const key of keys) {
      const lease = await a.acquire(key)
      before.push(lease.token ?? 0n)
      await lease.release()
    }
    const lease = await a.all(keys)
    for (const [index, key] of keys.entries()) {
      const token = lease.leases.find((each) => each.key === key)?.token ?? 0n
      assert.ok(token > (before[index] ?? 0n), `token ${token} after ${before[index]}`)
    }
  }),
]

function group(scene: Scene, party: Party, suffixes: readonly string[]) {
  const name = scene.runtime.newId()
  return scene.kin(...suffixes).map((key) => party.claim(key, { group: name }))
}

async function noneInUse(scene: Scene, locks: Locks, prefix: string): Promise<void> {
  await scene.eventually('no key must stay in use', SOON_MS, async () => {
    for await (const _view of locks.list({ prefix })) return false
    return true
  })
}
