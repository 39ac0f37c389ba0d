import { createLocks, type KeyView, type Locks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { failure } from './support.ts'

const CALL_TIMEOUT_MS = 500
const never = new Promise<never>(() => {})
const free: KeyView = { key: 'a', holders: [], queue: [], token: null, limit: null, closedForMs: 0 }

/** Locks over a store that lists its keys in this way. */
function listing(list: (prefix: string, onPage?: () => void) => AsyncGenerator<KeyView>): {
  runtime: FakeRuntime
  locks: Locks
} {
  const runtime = new FakeRuntime()
  const inner = memory({ runtime })
  const store = { ...inner, admin: { ...inner.admin, list } }
  const locks = createLocks({ store, runtime, callTimeout: CALL_TIMEOUT_MS })
  onTestFinished(() => runtime.until(locks.close()))
  return { runtime, locks }
}

function pause(runtime: FakeRuntime, ms: number): Promise<void> {
  return new Promise((resolve) => runtime.setTimer(resolve, ms, false))
}

async function keysOf(locks: Locks, most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of locks.list()) if (keys.push(key) >= most) break
  return keys
}

test('a list that hangs ends with an error after the time-out of a call', async () => {
  const { runtime, locks } = listing(async function* () {
    yield free
    await never
  })
  const failed = failure(keysOf(locks))
  const startedAtMs = runtime.nowMs()
  expect(await runtime.until(failed)).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(runtime.nowMs() - startedAtMs).toBe(CALL_TIMEOUT_MS)
})

test('a list that takes long has the time-out of a call for each page', async () => {
  const { runtime, locks } = listing(async function* (_, onPage) {
    for (let page = 0; page < 10; page++) {
      await pause(runtime, CALL_TIMEOUT_MS - 1)
      onPage?.()
    }
    yield free
  })
  const startedAtMs = runtime.nowMs()
  expect(await runtime.until(keysOf(locks))).toEqual(['a'])
  expect(runtime.nowMs() - startedAtMs).toBe(10 * (CALL_TIMEOUT_MS - 1))
})

test('a list that hangs after some pages ends with an error, too', async () => {
  const { runtime, locks } = listing(async function* (_, onPage) {
    await pause(runtime, 1)
    onPage?.()
    await never
    yield free
  })
  expect(await runtime.until(failure(keysOf(locks)))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(runtime.nowMs()).toBeGreaterThan(CALL_TIMEOUT_MS)
})

test('a caller that stops listing does not wait for a clean-up that hangs', async () => {
  const { runtime, locks } = listing(async function* () {
    try {
      yield free
    } finally {
      await never
    }
  })
  expect(await runtime.until(keysOf(locks, 1))).toEqual(['a'])
})
