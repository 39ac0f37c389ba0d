import { connect, type Locks } from 'holdfast'
import { expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'

/** Each wait for silent nodes is a fifth of a second; a call that waits for its deadline takes five. */
const PROMPT_MS = 2500

async function startServers(count: number) {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedis()))
  onTestFinished(async () => {
    await Promise.all(servers.map((server) => server.stop()))
  })
  const names = servers.map(({ port }) => `127.0.0.1:${port}`)
  return { servers, names, url: `redlock://${names.join(',')}` }
}

async function open(url: string): Promise<Locks> {
  const locks = await connect(url, { wait: 10_000 })
  onTestFinished(() => locks.close())
  return locks
}

async function keysOf(locks: Locks): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of locks.list()) keys.push(key)
  return keys.sort()
}

async function promptly<T>(work: () => Promise<T>): Promise<T> {
  const beganMs = performance.now()
  const result = await work()
  expect(performance.now() - beganMs).toBeLessThan(PROMPT_MS)
  return result
}

it.each([
  [1, 3],
  [2, 5],
])('with %i of %i nodes frozen everything works from the majority', async (silent, count) => {
  const { servers, names, url } = await startServers(count)
  const holder = await open(url)
  const [lease, other] = [await holder.acquire('held'), await holder.acquire('other')]
  for (const { pid } of servers.slice(0, silent)) {
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
  }
  const operator = await promptly(() => open(url))
  for (const locks of [holder, operator]) {
    expect(await promptly(() => keysOf(locks))).toEqual(['held', 'other'])
    expect((await promptly(() => locks.read('held'))).holders).toHaveLength(1)
  }
  await promptly(() => lease.extend('20s'))
  const { unseen, keys } = await promptly(() => operator.doctor({ watch: 0 }))
  expect(keys).toBe(2)
  const told = unseen.map(({ why }) => why).join('; ')
  for (const [index, name] of names.entries()) expect(told.includes(name)).toBe(index < silent)
  expect(await promptly(() => operator.evict('held'))).toHaveLength(1)
  await promptly(() => operator.using('held', () => {}))
  expect(await promptly(() => other.release())).toBe('released')
  await promptly(() => operator.using('other', () => {}))
  expect(await promptly(() => keysOf(operator))).toEqual([])
})

it('a node that freezes during a list is left out of the rest', async () => {
  const { servers, url } = await startServers(3)
  const locks = await open(url)
  // More than one page, so that the list goes back to its nodes.
  const keys = Array.from({ length: 600 }, (_, number) => `key ${String(number).padStart(3, '0')}`)
  await Promise.all(keys.map((key) => locks.acquire(key)))
  const seen = new Set<string>()
  const pid = servers[0]?.pid as number
  onTestFinished(() => void process.kill(pid, 'SIGCONT'))
  await promptly(async () => {
    for await (const { key } of locks.list()) {
      if (seen.size === 0) process.kill(pid, 'SIGSTOP')
      seen.add(key)
    }
  })
  expect([...seen].sort()).toEqual(keys)
})

it('a list without a majority is an outage within the deadline, and names the silent nodes', async () => {
  const { servers, names, url } = await startServers(3)
  const locks = await open(url)
  for (const { pid } of servers.slice(0, 2)) {
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void process.kill(pid, 'SIGCONT'))
  }
  const error = await promptly(() => keysOf(locks).catch((reason) => reason))
  expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  for (const name of names.slice(0, 2)) expect(error.message).toContain(name)
})
