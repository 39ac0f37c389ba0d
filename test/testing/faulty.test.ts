import type { Store } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import { FakeRuntime, type FaultyStore, faulty, LostCallError } from 'holdfast/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import type { StoreNotice } from '../../src/core/store.ts'
import type { Claim } from '../../src/model/index.ts'

let runtime: FakeRuntime
let store: FaultyStore
let other: Store

beforeEach(() => {
  runtime = new FakeRuntime()
  const world = memoryWorld(runtime)
  store = faulty(memory({ world }), runtime)
  other = memory({ world })
})

function claim(key: string, queue = false): Claim {
  const id = runtime.newId()
  return {
    key,
    id,
    mode: { kind: 'exclusive' },
    ttlMs: 10_000,
    queue,
    owner: null,
    actor: null,
    label: 'test',
    meta: null,
    lockDelayMs: 0,
    group: null,
    replaces: null,
  }
}

async function holders(key: string): Promise<number> {
  return (await other.admin.read(key)).holders.length
}

describe('calls', () => {
  test('go through without a fault, in the same turn, but do not count as immediate', () => {
    expect(store.attempt([claim('k')])).toMatchObject([{ kind: 'granted' }])
    expect(store.traits.immediate).toBe(false)
  })

  test('lose request: the store sees nothing', async () => {
    store.faults.next('attempt', { kind: 'lose request' })
    await expect(store.attempt([claim('k')])).rejects.toThrow(LostCallError)
    expect(await holders('k')).toBe(0)
    expect(await store.attempt([claim('k')])).toMatchObject([{ kind: 'granted' }])
  })

  test('lose reply: the store has done it', async () => {
    store.faults.next('attempt', { kind: 'lose reply' })
    await expect(store.attempt([claim('k')])).rejects.toThrow('the reply was lost on purpose')
    expect(await holders('k')).toBe(1)
  })

  test('delay: the store sees it later', async () => {
    store.faults.next('attempt', { kind: 'delay', ms: 100 })
    const answers = Promise.resolve(store.attempt([claim('k')]))
    await runtime.advance(99)
    expect(await holders('k')).toBe(0)
    await runtime.advance(1)
    expect(await answers).toMatchObject([{ kind: 'granted' }])
  })

  test('duplicate: the store sees it again', async () => {
    const once = claim('k')
    store.faults.next('attempt', { kind: 'duplicate', afterMs: 100 })
    await store.attempt([once])
    await store.release([once])
    expect(await holders('k')).toBe(0)
    await runtime.advance(100)
    expect(await holders('k')).toBe(1)
  })

  test.each(['request', 'reply'] as const)('hang at the %s until the gate opens', async (at) => {
    const gate = store.faults.hang('attempt', at)
    let answered = false
    const answers = Promise.resolve(store.attempt([claim('k')])).finally(() => {
      answered = true
    })
    await gate.reached
    await runtime.advance(1000)
    expect(answered).toBe(false)
    expect(await holders('k')).toBe(at === 'request' ? 0 : 1)
    gate.open()
    expect(await answers).toMatchObject([{ kind: 'granted' }])
  })

  test('a script is played call by call, before the standing fault', async () => {
    store.faults.every('renew', { kind: 'lose request' })
    store.faults.next('renew', { kind: 'none' }, { kind: 'lose reply' })
    expect(await store.renew([claim('k')])).toEqual([{ kind: 'lost' }])
    await expect(store.renew([claim('k')])).rejects.toThrow('reply')
    await expect(store.renew([claim('k')])).rejects.toThrow('request')
    await expect(store.renew([claim('k')])).rejects.toThrow('request')
    expect(await store.release([claim('k')])).toEqual([{ kind: 'absent' }])
  })

  test('cut: nothing goes out, nothing comes in; heal: all is well', async () => {
    const gate = store.faults.hang('attempt')
    const hanging = Promise.resolve(store.attempt([claim('k')]))
    await gate.reached
    store.faults.cut()
    await expect(store.attempt([claim('x')])).rejects.toThrow(LostCallError)
    await expect(store.renew([claim('x')])).rejects.toThrow(LostCallError)
    await expect(store.release([claim('x')])).rejects.toThrow(LostCallError)
    await expect(store.admin.read('x')).rejects.toThrow(LostCallError)
    await expect(store.records?.read('x')).rejects.toThrow(LostCallError)
    store.faults.heal()
    expect(await hanging).toMatchObject([{ kind: 'granted' }])
    expect(await store.records?.read('x')).toBe(null)
  })
})

describe('notices', () => {
  async function grantByPush(): Promise<void> {
    const holder = claim('k')
    await other.attempt([holder])
    await store.attempt([claim('k', true)])
    await other.release([holder])
    await runtime.drain()
  }

  test.each([
    ['pass', { kind: 'pass' }, 1],
    ['drop', { kind: 'drop' }, 0],
    ['double', { kind: 'double' }, 2],
  ] as const)('%s', async (_, fate, times) => {
    const heard: StoreNotice[] = []
    store.notices((notice) => heard.push(notice))
    store.faults.notices(fate)
    await grantByPush()
    expect(heard.map((notice) => notice.kind)).toEqual(Array(times).fill('granted'))
  })

  test('delay, unless there is no listener any more', async () => {
    const heard: StoreNotice[] = []
    const stop = store.notices((notice) => heard.push(notice))
    store.faults.notices({ kind: 'delay', ms: 100 })
    await grantByPush()
    await runtime.advance(99)
    expect(heard).toEqual([])
    await runtime.advance(1)
    expect(heard).toHaveLength(1)
    store.faults.notices((notice) => ({ kind: notice.kind === 'lost' ? 'delay' : 'drop', ms: 100 }))
    await other.admin.evict('k', null, false)
    await runtime.drain()
    stop()
    await runtime.advance(100)
    expect(heard).toHaveLength(1)
    expect(runtime.pendingTimers).toBe(0)
  })
})
