import { createLocks, type Locks, type WriteLease } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalHold } from '../../src/core/lease/hold.ts'
import { RenewalSchedule } from '../../src/core/lease/renewal-schedule.ts'
import type { Store } from '../../src/core/store.ts'
import type { Claim } from '../../src/model/index.ts'

const TTL_MS = 900

/** Locks over a store that answers a turn later, as servers do, and the lists of claims that it was asked to renew. */
function watched(): { runtime: FakeRuntime; locks: Locks; renewals: (readonly Claim[])[] } {
  const runtime = new FakeRuntime()
  const renewals: (readonly Claim[])[] = []
  const inner = memory({ runtime })
  const store: Store = {
    ...inner,
    traits: { ...inner.traits, immediate: false },
    async renew(claims) {
      renewals.push(claims)
      return inner.renew(claims)
    },
  }
  const locks = createLocks({ store, runtime, ttl: TTL_MS })
  onTestFinished(() => runtime.until(locks.close()))
  return { runtime, locks, renewals }
}

function keysOf(claims: readonly Claim[] | undefined): string[] {
  return (claims ?? []).map(({ key }) => key).toSorted()
}

test('while no lease is added or removed, the store gets the same list again', async () => {
  const { runtime, locks, renewals } = watched()
  await runtime.until(Promise.all(['a', 'b', 'c'].map((key) => locks.acquire(key))))
  await runtime.advance(3 * TTL_MS)
  expect(renewals.length).toBeGreaterThanOrEqual(8)
  expect(new Set(renewals).size).toBe(1)
  expect(keysOf(renewals[0])).toEqual(['a', 'b', 'c'])
})

test('the list is a new one when a lease is added, removed or extended', async () => {
  const { runtime, locks, renewals } = watched()
  const [a, b] = await runtime.until(Promise.all(['a', 'b', 'c'].map((key) => locks.acquire(key))))
  const next = async (): Promise<readonly Claim[]> => {
    const before = renewals.length
    await runtime.advance(TTL_MS / 3)
    expect(renewals.length).toBe(before + 1)
    return renewals.at(-1) as readonly Claim[]
  }
  const whole = await next()
  await runtime.until(a?.release() as Promise<unknown>)
  const fewer = await next()
  expect(keysOf(fewer)).toEqual(['b', 'c'])
  expect(keysOf(whole), 'what was sent stays as it was').toEqual(['a', 'b', 'c'])
  await runtime.until(b?.extend(2 * TTL_MS) as Promise<unknown>)
  await runtime.advance(3 * TTL_MS)
  const sent = renewals.slice(-3).flatMap((claims) => claims.filter(({ key }) => key === 'b'))
  for (const { ttlMs } of sent) expect(ttlMs).toBe(2 * TTL_MS)
  expect(sent.length).toBeGreaterThan(0)
})

test('a writer that becomes a reader is renewed as one from then on', async () => {
  const { runtime, locks, renewals } = watched()
  const [writer] = (await runtime.until(
    Promise.all([locks.rw('a').write.acquire(), locks.acquire('b')]),
  )) as [WriteLease, unknown]
  await runtime.advance(TTL_MS / 3)
  expect(keysOf(renewals[0])).toEqual(['a', 'b'])
  await runtime.until(writer.downgrade())
  await runtime.advance(2 * TTL_MS)
  const kinds = (renewals.at(-1) ?? []).map(({ key, mode }) => [key, mode.kind])
  expect(new Map(kinds as [string, string][]).get('a')).toBe('shared')
  expect(writer.held).toBe(true)
})

test('a lease that is not to be renewed is not, although a downgrade gave it more time', async () => {
  const { runtime, locks, renewals } = watched()
  const writer = (await runtime.until(locks.rw('a').write.acquire({ renew: false }))) as WriteLease
  await runtime.advance(TTL_MS / 2)
  await runtime.until(writer.downgrade())
  await runtime.advance(TTL_MS * 0.9)
  expect(writer.held).toBe(true)
  await runtime.advance(TTL_MS)
  expect(renewals).toEqual([])
  expect(writer.held).toBe(false)
})

test('leases end at their own deadlines while the renewal of all of them hangs', async () => {
  const runtime = new FakeRuntime()
  const inner = memory({ runtime })
  const store: Store = {
    ...inner,
    traits: { ...inner.traits, immediate: false },
    renew: () => new Promise(() => {}),
  }
  const locks = createLocks({ store, runtime, callTimeout: '1h' })
  onTestFinished(() => runtime.until(locks.close()))
  const lost: string[] = []
  locks.on('lost', ({ key }) => lost.push(key))
  const short = runtime.until(locks.acquire('short', { ttl: 1000 }))
  const long = runtime.until(locks.acquire('long', { ttl: 3000 }))
  await Promise.all([short, long])
  await runtime.advance(1000)
  expect(lost).toEqual(['short'])
  await runtime.advance(2000)
  expect(lost).toEqual(['short', 'long'])
})

test('thousands of leases that end at once do so in many turns, and all of them', async () => {
  const { runtime, locks } = watched()
  const keys = Array.from({ length: 1700 }, (_, n) => `k${n}`)
  const leases = await runtime.until(Promise.all(keys.map((key) => locks.acquire(key, { renew: false }))))
  await runtime.advance(TTL_MS)
  expect(leases.filter(({ signal }) => !signal.aborted)).toEqual([])
})

test('an empty batch fires for a hold that leaves another batch empty by joining it', async () => {
  const runtime = new FakeRuntime()
  const due: LocalHold[] = []
  const schedule = new RenewalSchedule(
    runtime,
    (batch) => void due.push(...batch.holds),
    () => {},
  )
  const fresh = (): LocalHold =>
    ({ batch: null, batchIndex: -1, validUntilMs: 1000, lifeMs: 1000 }) as unknown as LocalHold
  const [one, other] = [fresh(), fresh()]
  schedule.add(one, 100)
  schedule.remove(one)
  schedule.add(other, 200)
  schedule.add(other, 100)
  await runtime.advance(150)
  expect(due).toEqual([other])
  expect(schedule.size).toBe(1)
  schedule.clear()
})
