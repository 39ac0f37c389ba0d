import { join } from 'node:path'
import { sqlite } from 'holdfast/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { Store } from '../../../src/core/store.ts'
import { claimOf } from './claims.ts'
import { Child } from './processes.ts'
import { ask, letGo, rawDatabase, take, tempFolder } from './world.ts'

function openReal(path: string): Store {
  const store = sqlite(path)
  onTestFinished(() => store.close())
  return store
}

async function untilGranted(store: Store, key: string): Promise<void> {
  const claim = claimOf(key)
  for (;;) {
    const answer = await ask(store, claim)
    if (answer.kind === 'granted') break
    expect(answer.kind).toBe('blocked')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(await letGo(store, claim)).toBe('released')
}

test('a process killed inside a transaction has done nothing, and the next writer goes on', async () => {
  const path = join(tempFolder(), 'locks.db')
  const store = openReal(path)
  const child = new Child('freeze before commit', path)
  expect(await child.says()).toBe('before commit')
  const waiting = store.attempt([claimOf('k:1')])
  expect(waiting, 'the child has the database').toBeInstanceOf(Promise)
  await child.kill()
  expect(await waiting).toMatchObject([{ kind: 'granted' }])
  expect((await ask(store, claimOf('k:2'))).kind).toBe('granted')
})

test('a process killed after its commit holds all of its keys until their ttl, and no longer', async () => {
  const path = join(tempFolder(), 'locks.db')
  const store = openReal(path)
  const child = new Child('freeze after commit', path)
  expect(await child.says()).toBe('after commit')
  await child.kill()
  const killedAtMs = nodeRuntime.nowMs()
  for (const key of ['k:1', 'k:2'])
    expect((await store.admin.read(key)).holders).toMatchObject([{ label: 'tester' }])
  await untilGranted(store, 'k:1')
  await untilGranted(store, 'k:2')
  expect(nodeRuntime.nowMs() - killedAtMs).toBeLessThan(5000)
})

test('processes killed at any moment leave a sound file and keys that are free again', async () => {
  const path = join(tempFolder(), 'locks.db')
  const store = openReal(path)
  const tokens = new Map<string, bigint>()
  for (let round = 0; round < 3; round++) {
    const children = [new Child('spin', path), new Child('spin', path)]
    for (const child of children) expect(await child.says()).toBe('spinning')
    await new Promise((resolve) => setTimeout(resolve, 40 + 30 * round))
    for (const child of children) await child.kill()
    expect(rawDatabase(path).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    for (const key of ['k:0', 'k:1', 'k:2', 'k:3', 'k:4']) {
      await untilGranted(store, key)
      const claim = claimOf(key)
      const token = await take(store, claim)
      expect(token).toBeGreaterThan(tokens.get(key) ?? 0n)
      tokens.set(key, token)
      await letGo(store, claim)
    }
  }
})

test('many processes can open a new file at the same moment', async () => {
  const path = join(tempFolder(), 'locks.db')
  const children = Array.from({ length: 4 }, (_, n) => new Child('open', path, `k${n}`))
  expect(await Promise.all(children.map((child) => child.says()))).toEqual(Array(4).fill('granted'))
})

// The locks of a process on a file end as soon as it closes any descriptor of that file: if ours did, whoever opens the
// file would take it for abandoned and cut off its index under the others.
test('a busy process continues while others open and close the file', async () => {
  const path = join(tempFolder(), 'locks.db')
  const busy = new Child('spin', path)
  expect(await busy.says()).toBe('spinning')
  const visitor = new Child('come and go', path, 'other')
  expect(await visitor.says()).toBe('done')
  // It has the file until the last of its connections is closed.
  await visitor.exit()
  expect(busy.process.signalCode).toBe(null)
  await busy.kill()
  expect(rawDatabase(path).prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
})
