import { createLocks, type Locks, type Store } from 'holdfast'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { CLIENTS, openStore } from './clients.ts'

/** How long callers wait for an answer here; the connection is away for longer than that. */
const CALL_TIMEOUT_MS = 300

const server = await startRedis()
afterAll(() => server.stop())

let proxy: TcpProxy
let opened: Locks[] = []

afterEach(async () => {
  proxy.heal()
  await Promise.all(opened.map((locks) => locks.close()))
  opened = []
  await proxy.close()
})

describe.each(Object.entries(CLIENTS))('with a client of %s that was brought as it is', (name, bring) => {
  async function open(): Promise<{ locks: Locks; store: Store }> {
    proxy = await startProxy(server.port)
    const { store } = await openStore(bring, proxy.port, { check: false })
    const locks = createLocks({ store, ttl: 60_000, callTimeout: CALL_TIMEOUT_MS })
    opened.push(locks)
    await locks.using('warm', () => {})
    return { locks, store }
  }

  async function untilBack(store: Store): Promise<void> {
    const back = async () => {
      try {
        await store.admin.read('warm')
        return true
      } catch {
        return false
      }
    }
    await expect.poll(back, { timeout: 10_000 }).toBe(true)
  }

  it('does nothing twice when the connection breaks between a command and its answer', async () => {
    const { store } = await open()
    const { records } = store
    const key = `taken once with ${name}`
    await records?.write(key, '10', null, { kind: 'always' })
    // The server knows the script from now on.
    await records?.take(key, 1)
    const lost = proxy.loseReplyTo(key)
    const taken = Promise.resolve(records?.take(key, 1)).then(
      () => 'answered',
      () => 'unknown',
    )
    await lost
    expect(await taken).toBe('unknown')
    await untilBack(store)
    expect((await records?.read(key))?.value).toBe('8')
  })

  it('sends no claim after its caller has given up', async () => {
    const { locks, store } = await open()
    const key = `never asked for with ${name}`
    proxy.hold('requests')
    const claim = locks.acquire(key, { wait: 0 })
    const refused = expect(claim).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    // The bytes are in the proxy now, and go no further.
    await new Promise((resolve) => setTimeout(resolve, CALL_TIMEOUT_MS / 3))
    proxy.cut()
    await refused
    await new Promise((resolve) => setTimeout(resolve, CALL_TIMEOUT_MS))
    proxy.heal()
    await untilBack(store)
    expect(await store.admin.read(key)).toMatchObject({ holders: [], token: null })
  })

  it('keeps no claim that is made while the connection breaks', async () => {
    const { locks, store } = await open()
    const key = `too late with ${name}`
    proxy.cut()
    // The end of the connection is seen in this turn of the event loop or in the next ones.
    const claims = []
    for (let turn = 0; turn < 50; turn++) {
      claims.push(locks.acquire(`${key} ${turn}`, { wait: 0 }).catch((error) => error.code))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(new Set(await Promise.all(claims))).toEqual(new Set(['STORE_UNAVAILABLE']))
    await new Promise((resolve) => setTimeout(resolve, CALL_TIMEOUT_MS))
    proxy.heal()
    await untilBack(store)
    for (let turn = 0; turn < 50; turn++)
      expect(await store.admin.read(`${key} ${turn}`)).toMatchObject({ holders: [], token: null })
  })
})
