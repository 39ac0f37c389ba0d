import assert from 'node:assert/strict'
import { UnsupportedError } from '../../../errors.ts'
import { createLocks } from '../../../index.ts'
import { type Check, check, fencing, lacking, ordered, permitting, sharing } from '../check.ts'
import { type GrantedClaim, tokenOfGrant } from '../party.ts'
import { safe } from '../scene.ts'

const LARGEST_TOKEN = 2n ** 63n - 1n

export const fences: readonly Check[] = [
  check('tokens rise over releases', fencing, async (scene) => {
    const parties = [await scene.party(), await scene.party()]
    const key = scene.key()
    let last = 0n
    for (let round = 0; round < 20; round++) {
      const party = parties[round % 2] ?? (await scene.party())
      const taken = await party.take(key)
      last = above(last, taken)
      await party.release(taken.claim)
    }
  }),

  check('tokens rise over an expiry', fencing, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const ttlMs = scene.ttlMs(300)
    const last = above(0n, await a.take(key, { ttlMs }))
    above(last, await b.askUntilGranted(b.claim(key), scene.endedByMs(ttlMs), 'an expired hold must end'))
  }),

  check('tokens rise over an eviction', fencing, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const last = above(0n, await a.take(key))
    await b.store.admin.evict(key, null, false)
    above(last, await b.take(key, {}, 'an evicted key is free'))
  }),

  check('tokens rise along the queue', [fencing, ordered], async (scene) => {
    const [a, b, c] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const first = await a.take(key)
    let last = above(0n, first)
    const second = await b.block(key, { queue: true })
    const third = await c.block(key, { queue: true })
    await a.release(first.claim)
    last = above(last, await b.askUntilGranted(second, 1000, 'the next in the queue must be granted'))
    await b.release(second)
    above(last, await c.askUntilGranted(third, 1000, 'the next in the queue must be granted'))
  }),

  check('each reader has a token of its own', [fencing, sharing], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const mode = { kind: 'shared' } as const
    const last = above(0n, await a.take(key, { mode }))
    above(last, await b.take(key, { mode }))
  }),

  check('each permit has a token of its own', [fencing, permitting], async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const mode = { kind: 'permits', limit: 2, weight: 1 } as const
    const last = above(0n, await a.take(key, { mode }))
    above(last, await b.take(key, { mode }))
  }),

  check('of concurrent grants in a row no token comes twice', fencing, async (scene) => {
    const processes = [await scene.locks(), await scene.locks(), await scene.locks()]
    const key = scene.key()
    const tokens: bigint[] = []
    const worker = async (locks: (typeof processes)[number]): Promise<void> => {
      for (let round = 0; round < 4; round++) {
        await locks.using(key, { wait: 20_000 }, (lease) => {
          tokens.push(lease.token ?? 0n)
        })
      }
    }
    await Promise.all(processes.flatMap((locks) => [worker(locks), worker(locks)]))
    for (const [index, token] of tokens.entries()) {
      if (index > 0) safe(token > (tokens[index - 1] ?? 0n), `token ${token} after ${tokens[index - 1]}`)
    }
    assert.equal(tokens.length, 24)
  }),

  check('a token is a positive integer of 63 bits', fencing, async (scene) => {
    const a = await scene.party()
    const taken = await a.take(scene.key())
    const token = tokenOfGrant(taken)
    assert.ok(
      token > 0n && token + BigInt(taken.spare) <= LARGEST_TOKEN,
      `token ${token} with ${taken.spare} to spare`,
    )
  }),

  check('the next token is above everything that the last holder may give away', fencing, async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const first = await a.take(key)
    await a.release(first.claim)
    const next = await b.take(key)
    const given = tokenOfGrant(first) + BigInt(first.spare)
    assert.ok(tokenOfGrant(next) > given, `token ${next.token}, but ${given} may have been handed over`)
  }),

  check('local hand-overs have rising tokens', fencing, async (scene) => {
    const [a, b] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const tokens: bigint[] = []
    const note = (lease: { token: bigint | null }) => void tokens.push(lease.token ?? 0n)
    await Promise.all([a.using(key, note), a.using(key, note), a.using(key, note)])
    await b.using(key, note)
    assert.equal(tokens.length, 4)
    for (const [index, token] of tokens.entries()) {
      if (index > 0) safe(token > (tokens[index - 1] ?? 0n), `token ${token} after ${tokens[index - 1]}`)
    }
  }),

  check('the token of a holder is shown to operators', fencing, async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const { token } = await a.take(key)
    const view = await a.store.admin.read(key)
    assert.equal(view.holders[0]?.token, token)
    assert.equal(view.token, token)
  }),

  check('a lease carries its token as text', fencing, async (scene) => {
    const a = await scene.locks()
    const lease = await a.acquire(scene.key())
    const text = JSON.parse(JSON.stringify(lease)) as { token: unknown }
    assert.equal(text.token, String(lease.token))
  }),

  check('a store without ordered tokens says so', lacking(fencing), async (scene) => {
    const a = await scene.locks()
    const lease = await a.acquire(scene.key())
    assert.equal(lease.token, null, 'a token that is not ordered is worse than none')
    const store = await scene.open()
    scene.onEnd(() => store.close())
    assert.throws(() => createLocks({ store, requireFencing: true }), UnsupportedError)
  }),
]

function above(last: bigint, taken: Pick<GrantedClaim, 'token'>): bigint {
  const token = tokenOfGrant(taken)
  safe(token > last, `token ${token} after ${last}`)
  return token
}
