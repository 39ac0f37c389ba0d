import { createLocks, type Locks, StoreError } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Soon, Store, Unknown } from '../../src/core/store.ts'
import type { Claim } from '../../src/model/index.ts'
import { failure } from './support.ts'

const KEYS = ['a', 'b', 'odd', 'c']
const REASON = new Error('a driver said something')

let runtime: FakeRuntime
let locks: Locks
let odd: boolean
let inner: Store

/** A store that does not know what became of one key, and knows everything about the others of the same call. */
beforeEach(() => {
  runtime = new FakeRuntime()
  inner = memory({ runtime })
  odd = false
  const replies = async <A>(
    claims: readonly Claim[],
    ask: (claims: readonly Claim[]) => Soon<A>,
  ): Promise<A> => {
    const answers = (await ask(claims)) as readonly unknown[]
    const unknown: Unknown = { kind: 'unknown', error: REASON }
    return answers.map((answer, place) => (odd && claims[place]?.key === 'odd' ? unknown : answer)) as A
  }
  const store: Store = {
    ...inner,
    traits: { ...inner.traits, immediate: false },
    attempt: (claims) => replies(claims, inner.attempt),
    renew: (claims) => replies(claims, inner.renew),
    release: (claims) => replies(claims, inner.release),
  }
  locks = createLocks({ store, runtime, ttl: 3000 })
  onTestFinished(() => runtime.until(locks.close()))
})

const all = () => runtime.until(Promise.all(KEYS.map((key) => locks.acquire(key, { wait: 0 }))))

test('an unknown claim fails alone', async () => {
  odd = true
  const outcomes = await runtime.until(Promise.allSettled(KEYS.map((key) => locks.acquire(key, { wait: 0 }))))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  const { reason } = outcomes[2] as PromiseRejectedResult
  expect(reason).toBeInstanceOf(StoreError)
  expect(reason.cause).toBe(REASON)
})

test('an unknown claim is asked for again while there is time to wait', async () => {
  odd = true
  const waiting = locks.acquire('odd', { wait: 5000 })
  await runtime.advance(500)
  odd = false
  expect((await runtime.until(waiting)).held).toBe(true)
})

test('an unknown release fails alone, and is repeated apart from its caller', async () => {
  const leases = await all()
  odd = true
  const outcomes = await runtime.until(Promise.allSettled(leases.map((lease) => lease.release())))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect((outcomes[2] as PromiseRejectedResult).reason).toBeInstanceOf(StoreError)
})

test('an unknown renewal is an error of ours for the caller of extend, and for the listeners', async () => {
  const told: unknown[] = []
  locks.on('renewFailed', ({ error }) => told.push(error))
  const lease = await runtime.until(locks.acquire('odd'))
  odd = true
  const error = await runtime.until(failure(lease.extend(3000)))
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: REASON })
  expect(told[0]).toBe(error)
})
