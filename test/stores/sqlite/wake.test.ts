import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqlite } from 'holdfast/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../src/core/store.ts'
import { pidNamespace } from '../../../src/stores/sqlite/inbox.ts'
import { claimOf } from './claims.ts'
import { Child } from './processes.ts'
import { ask, letGo, Machine, noticesOf, take, tempFolder } from './world.ts'

const DAY_MS = 24 * 3_600_000

function openReal(path: string): Store {
  const store = sqlite(path)
  onTestFinished(() => store.close())
  return store
}

const inboxes = (path: string) => (existsSync(`${path}-wake`) ? readdirSync(`${path}-wake`) : [])

test('a waiter in another process that never polls is notified of its grant', async () => {
  const path = join(tempFolder(), 'locks.db')
  const store = openReal(path)
  const told = noticesOf(store)
  const mine = claimOf('k', { ttlMs: 60_000 })
  const token = await take(store, mine)
  const child = new Child('wait', path)
  const blocked = (await child.says()) as { kind: string; id: string }
  expect(blocked.kind).toBe('blocked')
  expect(await told.next(), 'and the holder that others wait').toEqual({
    kind: 'contended',
    key: 'k',
    id: mine.id,
  })
  expect(await letGo(store, mine)).toBe('released')
  const granted = (await child.says()) as { token: string }
  expect(granted).toMatchObject({
    kind: 'granted',
    key: 'k',
    id: blocked.id,
    spare: 255,
    contended: false,
    lifeMs: 1000,
  })
  expect(BigInt(granted.token)).toBeGreaterThan(token)
  expect((await store.admin.read('k')).token).toBe(BigInt(granted.token))
})

test('evictions, requests to release and expiries reach the process that they concern', async () => {
  const machine = new Machine()
  const [holder, operator] = [machine.open(), machine.open()]
  const told = noticesOf(holder)
  const claim = claimOf('k', { ttlMs: 1000 })
  const token = await take(holder, claim)
  await operator.admin.evict('k', token, true)
  expect(await told.next()).toEqual({ kind: 'revoked', key: 'k', id: claim.id })
  await operator.admin.evict('k', null, false)
  expect(await told.next()).toEqual({ kind: 'lost', cause: 'evicted', key: 'k', id: claim.id })
  await take(holder, claim)
  await machine.runtime.advance(1000)
  await take(operator, claimOf('k'))
  expect(await told.next()).toEqual({ kind: 'lost', cause: 'expired', key: 'k', id: claim.id })
})

test('notifications to the same store are delivered after the call that caused them, and touch no file', async () => {
  const machine = new Machine()
  const store = machine.open()
  const told = noticesOf(store)
  const [first, second] = [claimOf('k'), claimOf('k')]
  await take(store, first)
  await ask(store, second)
  const released = store.release([first])
  expect(
    told.all.map(({ kind }) => kind),
    'not before the caller has its answer',
  ).toEqual(['contended'])
  await released
  expect(told.all.at(-1)).toMatchObject({
    kind: 'granted',
    id: second.id,
    storeTimeMs: 5_000_000,
    lifeMs: 1000,
  })
  const [inbox] = inboxes(machine.path)
  expect(statSync(join(`${machine.path}-wake`, inbox as string)).size).toBe(0)
})

test('a store without a listener has no inbox, and closing the last one removes the folder', async () => {
  const machine = new Machine()
  const [one, other] = [machine.open(), machine.open()]
  expect(inboxes(machine.path)).toEqual([])
  noticesOf(one)
  noticesOf(other)
  expect(inboxes(machine.path)).toHaveLength(2)
  await one.close()
  expect(inboxes(machine.path)).toHaveLength(1)
  await other.close()
  expect(existsSync(`${machine.path}-wake`)).toBe(false)
})

test('the inboxes of killed processes are removed, those of the living are not', async () => {
  const path = join(tempFolder(), 'locks.db')
  const child = new Child('wait', path)
  await child.says()
  noticesOf(openReal(path))
  expect(inboxes(path), 'the child lives').toHaveLength(2)
  await child.kill()
  noticesOf(openReal(path))
  expect(inboxes(path)).toHaveLength(2)
  expect(inboxes(path).every((name) => name.startsWith(`${pidNamespace()}-${process.pid}-`))).toBe(true)
})

test('an inbox of another container is removed when it was not used for a day', () => {
  const machine = new Machine()
  const folder = `${machine.path}-wake`
  mkdirSync(folder)
  const fresh = `7-1-${'f'.repeat(22)}`
  const old = `7-1-${'o'.repeat(22)}`
  const unknown = 'notes.txt'
  for (const [name, ageMs] of [
    [fresh, DAY_MS / 2],
    [old, DAY_MS * 2],
    [unknown, DAY_MS * 2],
  ] as const) {
    writeFileSync(join(folder, name), '')
    const seconds = (machine.runtime.wallMs() - ageMs) / 1000
    utimesSync(join(folder, name), seconds, seconds)
  }
  noticesOf(machine.open())
  expect(inboxes(machine.path)).toContain(fresh)
  expect(inboxes(machine.path)).toContain(unknown)
  expect(inboxes(machine.path)).not.toContain(old)
})

test('a removed inbox is created again before the next long wait', async () => {
  const machine = new Machine()
  const [waiter, holder] = [machine.open(), machine.open()]
  const told = noticesOf(waiter)
  const [name] = inboxes(machine.path)
  const { unlinkSync } = await import('node:fs')
  unlinkSync(join(`${machine.path}-wake`, name as string))
  await machine.runtime.advance(3_600_000)
  const mine = claimOf('k')
  await take(holder, mine)
  await ask(waiter, claimOf('k'))
  await letGo(holder, mine)
  expect(await told.next()).toMatchObject({ kind: 'granted' })
})

test('a long-used inbox is replaced by an empty one, and no notification is lost', async () => {
  const machine = new Machine()
  const [holder, operator] = [machine.open(), machine.open()]
  const told = noticesOf(holder)
  const claim = claimOf(`k${'x'.repeat(500)}`, { ttlMs: 60_000 })
  await take(holder, claim)
  let largest = 0
  for (let sent = 1; sent <= 1500; sent++) {
    await operator.admin.evict(claim.key, null, true)
    if (sent % 50 !== 0) continue
    while (told.all.length < sent) await told.next()
    for (const name of inboxes(machine.path)) {
      largest = Math.max(largest, statSync(join(`${machine.path}-wake`, name)).size)
    }
  }
  expect(told.all).toHaveLength(1500)
  expect(largest).toBeLessThan(400_000)
  await machine.runtime.advance(1000)
  expect(machine.runtime.pendingTimers).toBe(0)
})

test('a damaged notification and the name of another file do no harm', async () => {
  const machine = new Machine()
  const [holder, operator] = [machine.open(), machine.open()]
  const told = noticesOf(holder)
  const [name] = inboxes(machine.path)
  writeFileSync(join(`${machine.path}-wake`, name as string), 'not JSON\n{"kind":"lost"}\nnull\n', {
    flag: 'a',
  })
  const victim = join(machine.path, '..', 'victim')
  writeFileSync(victim, '')
  const claim = claimOf('k')
  await take(holder, claim)
  machine.database().exec(`UPDATE holdfast_locks SET inbox = '../victim'`)
  await operator.admin.evict('k', null, true)
  expect(statSync(victim).size).toBe(0)
  await take(holder, claimOf('other'))
  await operator.admin.evict('other', null, true)
  expect((await told.next()).key).toBe('other')
})

test('without a wake folder the store works without push', async () => {
  const machine = new Machine()
  writeFileSync(`${machine.path}-wake`, 'in the way')
  const [one, other] = [machine.open(), machine.open()]
  noticesOf(one)
  noticesOf(other)
  const [mine, yours] = [claimOf('k'), claimOf('k')]
  await take(one, mine)
  expect((await ask(other, yours)).kind).toBe('blocked')
  await letGo(one, mine)
  expect((await ask(other, yours)).kind).toBe('granted')
})

test('a process that has nothing else to do can exit', async () => {
  const child = new Child('idle', join(tempFolder(), 'locks.db'))
  expect(await child.says()).toBe('done')
  expect(await child.exit()).toBe(0)
})
