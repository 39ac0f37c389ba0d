import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { FakeRuntime } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { Store, StoreNotice } from '../../src/core/store.ts'

test('a push that others wait, which overtakes the answer of the claim, is not forgotten', async () => {
  const runtime = new FakeRuntime()
  const store = memory({ runtime })
  let tell: (notice: StoreNotice) => void = () => {}
  let attempts = 0
  const overtaking: Store = {
    ...store,
    traits: { ...store.traits, immediate: false },
    attempt: async (claims) => {
      attempts++
      const answers = await store.attempt(claims)
      for (const { id, key } of claims) tell({ kind: 'contended', id, key })
      return answers
    },
    renew: (claims) => store.renew(claims),
    release: (claims) => store.release(claims),
    notices: (listener) => {
      tell = listener
      return store.notices(listener)
    },
    close: () => store.close(),
  }
  const locks = createLocks({ store: overtaking, runtime })
  onTestFinished(() => runtime.until(locks.close()))
  const work = () => new Promise<void>((resolve) => runtime.setTimer(resolve, 2, false))
  await runtime.until(Promise.all(Array.from({ length: 12 }, () => locks.using('key', work))))
  // The key is given away after eight hand-overs, and asked for again.
  expect(attempts).toBe(2)
})
