import assert from 'node:assert/strict'
import { type Check, check, fencing, ordered, permitting, pushing, remembering, sharing } from '../check.ts'
import { grantedOf, tokenOfGrant } from '../party.ts'
import { SOON_MS } from '../scene.ts'

export const admin: readonly Check[] = [
  check('a free key has an empty record', async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    const view = await a.store.admin.read(key)
    assert.equal(view.key, key)
    assert.deepEqual([view.holders, view.queue], [[], []])
    assert.equal(view.limit, null)
    assert.equal(view.closedForMs, 0)
  }),

  check('a holder is shown with what it told about itself', async (scene) => {
    const a = await scene.party('host:42')
    const key = scene.key()
    const ttlMs = scene.ttlMs(30_000)
    const meta = JSON.stringify({ order: 7, note: 'ünï 🔒' })
    const owner = scene.traits.owners ? 'workflow 7' : null
    await a.take(key, { owner, actor: 'request 9', meta, ttlMs })
    const { holders } = await a.store.admin.read(key)
    assert.equal(holders.length, 1)
    const holder = holders[0]
    assert.ok(holder !== undefined)
    assert.deepEqual(
      [holder.label, holder.owner, holder.actor, holder.mode, holder.weight, holder.meta],
      ['host:42', owner, 'request 9', 'exclusive', 1, meta],
    )
    const { heldMs, expiresInMs } = holder
    assert.ok(heldMs !== null && heldMs >= 0 && heldMs < 20_000, `heldMs is ${heldMs}`)
    assert.ok(
      expiresInMs !== null && expiresInMs > 10_000 && expiresInMs <= ttlMs + 1000,
      `expiresInMs is ${expiresInMs}`,
    )
  }),

  check('the queue is shown in its order', ordered, async (scene) => {
    const [a, b, c] = [await scene.party('holder'), await scene.party('first'), await scene.party('second')]
    const key = scene.key()
    await a.take(key)
    await b.block(key, { queue: true })
    const owner = scene.traits.owners ? 'workflow 7' : null
    await c.block(key, { queue: true, owner, meta: '{"a":1}' })
    const { queue } = await a.store.admin.read(key)
    assert.deepEqual(
      queue.map((waiter) => [waiter.label, waiter.owner, waiter.meta]),
      [
        ['first', null, null],
        ['second', owner, '{"a":1}'],
      ],
    )
    assert.ok(queue.every((waiter) => waiter.waitedMs >= 0 && waiter.expiresInMs > 0))
  }),

  check('permits are shown with weight and limit', permitting, async (scene) => {
    const a = await scene.party()
    const key = scene.key()
    await a.take(key, { mode: { kind: 'permits', limit: 5, weight: 2 } })
    const view = await a.store.admin.read(key)
    assert.equal(view.limit, 5)
    assert.deepEqual([view.holders[0]?.mode, view.holders[0]?.weight], ['permits', 2])
  }),

  check('ids are never shown', async (scene) => {
    const [a, b] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key, scene.traits.owners ? { owner: 'workflow 7' } : {})
    const waiter = await b.block(key, { queue: true })
    const shown = [await b.store.admin.read(key), ...(await scene.list(b.store, key))]
    const text = JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    assert.ok(
      !text.includes(claim.id),
      'read or list shows the id of a holder, which is its proof of ownership',
    )
    assert.ok(!text.includes(waiter.id), 'read or list shows the id of a waiter')
  }),

  check('list shows the keys in use that begin with the prefix', async (scene) => {
    const a = await scene.party()
    const stem = scene.key()
    const used = [`${stem}a1`, `${stem}a2`, `${stem}b1`]
    for (const key of used) await a.take(key)
    const gone = await a.take(`${stem}a3`)
    await a.release(gone.claim)
    const keysOf = async (prefix: string) =>
      (await scene.list(a.store, prefix)).map((view) => view.key).sort()
    assert.deepEqual(await keysOf(stem), used)
    assert.deepEqual(await keysOf(`${stem}a`), used.slice(0, 2))
    assert.deepEqual(await keysOf(`${stem}b1`), [used[2]])
    assert.deepEqual(await keysOf(`${stem}c`), [])
  }),

  check('wildcards in a prefix of list are letters', async (scene) => {
    const a = await scene.party()
    const stem = scene.key()
    const used = ['%x', '*x', '?x', '[a]x', '\\x', '_x', 'ax', '{a}x', 'Ax', 'äx'].map((name) => stem + name)
    for (const key of used) await a.take(key)
    for (const prefix of used.map((key) => key.slice(0, -1))) {
      const found = (await scene.list(a.store, prefix)).map((view) => view.key)
      assert.deepEqual(found, [`${prefix}x`], `list(${JSON.stringify(prefix)})`)
    }
    assert.equal((await scene.list(a.store, stem)).length, used.length)
  }),

  check('list shows what read shows', async (scene) => {
    const a = await scene.party('host:42')
    const key = scene.key()
    await a.take(key)
    const [listed] = await scene.list(a.store, key)
    const read = await a.store.admin.read(key)
    assert.deepEqual(
      listed?.holders.map(({ label, mode, token }) => ({ label, mode, token })),
      read.holders.map(({ label, mode, token }) => ({ label, mode, token })),
    )
    assert.equal(listed?.token, read.token)
  }),

  check('an eviction with another token does nothing', fencing, async (scene) => {
    const [a, operator] = [await scene.party(), await scene.party()]
    const key = scene.key()
    const taken = await a.take(key)
    for (const wrong of [tokenOfGrant(taken) + 100_000n, tokenOfGrant(taken) - 100_000n]) {
      const answer = await operator.store.admin.evict(key, wrong, false)
      assert.equal(answer.kind, 'absent', `a hold of token ${taken.token} was evicted by token ${wrong}`)
    }
    assert.equal(await a.renew(taken.claim), 'renewed')
  }),

  check('an eviction by the token, handed over or not, ends the hold', fencing, async (scene) => {
    const [a, operator] = [await scene.party(), await scene.party()]
    for (const handedOver of [false, true]) {
      const taken = await a.take(scene.key())
      const token = tokenOfGrant(taken) + (handedOver ? BigInt(taken.spare) : 0n)
      const answer = await operator.store.admin.evict(taken.claim.key, token, false)
      assert.equal(answer.kind, 'evicted', `token ${token} belongs to the grant of ${taken.token}`)
      assert.equal(await a.renew(taken.claim), 'lost')
    }
  }),

  check('an eviction ends the hold and frees the key', remembering, async (scene) => {
    const [a, operator, c] = [await scene.party('host:42'), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.deepEqual(await operator.store.admin.evict(key, null, false), {
      kind: 'evicted',
      labels: ['host:42'],
    })
    assert.equal(await a.renew(claim), 'lost', 'an evicted claim must not be renewed')
    assert.equal(await a.release(claim), 'absent')
    await c.take(key, {}, 'an evicted key is free')
  }),

  check('an eviction by token ends that hold alone', [fencing, sharing], async (scene) => {
    const [a, b, operator] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const mode = { kind: 'shared' } as const
    const first = await a.take(key, { mode })
    const second = await b.take(key, { mode })
    assert.equal((await operator.store.admin.evict(key, tokenOfGrant(first), false)).kind, 'evicted')
    assert.equal(await a.renew(first.claim), 'lost')
    assert.equal(await b.renew(second.claim), 'renewed', 'the other reader was not meant')
  }),

  check('an eviction ends every hold when no token is named', [sharing, remembering], async (scene) => {
    const [a, b, operator] = [await scene.party('one'), await scene.party('two'), await scene.party()]
    const key = scene.key()
    const mode = { kind: 'shared' } as const
    await a.take(key, { mode })
    await b.take(key, { mode })
    const { labels } = await operator.store.admin.evict(key, null, false)
    assert.deepEqual([...labels].sort(), ['one', 'two'])
    await operator.take(key, {}, 'every reader was evicted')
  }),

  check('an eviction hands the key to the next in the queue', [ordered, fencing], async (scene) => {
    const [a, b, operator] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const evicted = await a.take(key)
    const waiter = await b.block(key, { queue: true })
    await operator.store.admin.evict(key, null, false)
    const next = grantedOf(await b.attempt(waiter), 'the next in the queue must be served after an eviction')
    assert.ok(tokenOfGrant(next) > tokenOfGrant(evicted) + BigInt(evicted.spare))
  }),

  check('an eviction of a free key finds nothing', async (scene) => {
    const operator = await scene.party()
    assert.deepEqual(await operator.store.admin.evict(scene.key(), null, false), {
      kind: 'absent',
      labels: [],
    })
  }),

  check('asking a holder to let go ends nothing', remembering, async (scene) => {
    const [a, operator] = [await scene.party('host:42'), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    assert.deepEqual(await operator.store.admin.evict(key, null, true), {
      kind: 'evicted',
      labels: ['host:42'],
    })
    assert.equal(await a.renew(claim), 'renewed')
  }),

  check('asking a holder to let go lets nobody else in', [ordered, remembering], async (scene) => {
    const [a, b, operator] = [await scene.party(), await scene.party(), await scene.party()]
    const key = scene.key()
    const { claim } = await a.take(key)
    const waiter = await b.block(key, { queue: true })
    await operator.store.admin.evict(key, null, true)
    assert.equal(await a.renew(claim), 'renewed')
    assert.equal((await b.attempt(waiter)).kind, 'blocked', 'the holder was asked, and holds the key')
    assert.equal(await a.release(claim), 'released')
    grantedOf(await b.attempt(waiter), 'the next in the queue must be served when the holder has let go')
  }),

  check('a holder that is asked to let go is told', pushing, async (scene) => {
    const [a, operator] = [await scene.locks(), await scene.locks()]
    const key = scene.key()
    const lease = await a.acquire(key)
    let asked = 0
    lease.on('revoked', () => asked++)
    await operator.evict(key, { ask: true })
    await scene.eventually('the lease must hear that it is asked for', SOON_MS, () => asked > 0)
    assert.ok(lease.held)
  }),

  check('operators see and evict through the facade', remembering, async (scene) => {
    const [a, operator] = [await scene.locks({ label: 'host:42' }), await scene.locks()]
    const key = scene.key()
    await a.acquire(key, { meta: { order: 7 } })
    const view = await operator.read(key)
    assert.equal(view.key, key)
    assert.deepEqual([view.holders[0]?.label, view.holders[0]?.meta], ['host:42', '{"order":7}'])
    const listed: string[] = []
    for await (const { key } of operator.list({ prefix: view.key })) listed.push(key)
    assert.deepEqual(listed, [key])
    assert.deepEqual(await operator.evict(key), ['host:42'])
    assert.ok(await operator.tryAcquire(key))
  }),
]
