import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createLocks, type Locks } from 'holdfast'
import { type AnyRedisClient, redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { makeCertificates } from '../../../scripts/servers/certificates.ts'
import { freePort } from '../../../scripts/servers/ports.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
const { authority, certificate, key } = makeCertificates(folder)
const tlsPort = await freePort()
const server = await startRedis({
  args: [
    ...['--tls-port', String(tlsPort), '--tls-auth-clients', 'no', '--tls-ca-cert-file', authority],
    ...['--tls-cert-file', certificate, '--tls-key-file', key],
  ],
})
const operator = new Redis(server.port)
/** The ACL that docs/redis.md recommends. */
const RIGHTS =
  'resetchannels &holdfast:* ~holdfast:* -@all +@connection +@scripting +@pubsub +@read +@write -@dangerous +time +info +wait'
await operator.call('ACL', ['SETUSER', 'app', 'on', '>p@ss/word', ...RIGHTS.split(' ')])

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})
afterAll(async () => {
  operator.disconnect()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Everything that a store does, by somebody who may do no more than that. */
async function useAll(locks: Locks): Promise<void> {
  const lease = await locks.acquire('guarded')
  const next = locks.rw('guarded').read.acquire({ wait: 5000 })
  await expect.poll(async () => (await locks.read('guarded')).queue.length).toBe(1)
  await lease.extend(20_000)
  await lease.release()
  const reader = await next
  expect(reader.token).toBeGreaterThan(lease.token as bigint)
  const listed = []
  for await (const { key } of locks.list()) listed.push(key)
  expect(listed).toContain('guarded')
  await locks.evict('guarded')
  await locks.all(['one', 'two']).then((group) => group.release())
  await locks.semaphore('permits', { limit: 2 }).using(() => {})
  await locks.once('job', async () => 'done')
  expect(await locks.update('counter', () => 1)).toBe(1)
  await locks.inventory('sale').stock(3)
  await locks.inventory('sale').take('buyer')
  expect(await locks.inventory('sale').remaining()).toBe(2)
}

describe('a user with no more rights than are needed', () => {
  it('can use everything, by URL', async () => {
    const locks = await connect(`redis://app:p%40ss%2Fword@127.0.0.1:${server.port}`)
    opened.push(locks)
    await useAll(locks)
  })

  it('may wait for replicas', async () => {
    const locks = await connect(
      `redis://app:p%40ss%2Fword@127.0.0.1:${server.port}?replicas=1&replicasTimeout=50`,
    )
    opened.push(locks)
    await expect(locks.acquire('alone', { wait: 0 })).rejects.toThrow(/reached 0 of 1 replicas/)
  })

  it('may touch no other key', async () => {
    const app = new Redis(server.port, { username: 'app', password: 'p@ss/word' })
    await expect(app.get('other')).rejects.toThrow(/NOPERM/)
    app.disconnect()
  })

  it('is told when its password is wrong, and the password is not', async () => {
    const wrong = connect(`redis://app:s3cret@127.0.0.1:${server.port}`)
    await expect(wrong).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(wrong).rejects.not.toThrow(/s3cret/)
  })
})

describe('over TLS', () => {
  const ca = readFileSync(authority, 'utf8')

  it('works with a client of ioredis, also for the inbox', async () => {
    const client = new Redis(tlsPort, 'localhost', { tls: { ca }, username: 'app', password: 'p@ss/word' })
    await useBetween(client as unknown as AnyRedisClient)
    client.disconnect()
  })

  it('works with a client of node-redis, also for the inbox', async () => {
    const socket = { host: 'localhost', port: tlsPort, tls: true as const, ca }
    const client = createClient({ socket, username: 'app', password: 'p@ss/word' })
    await client.connect()
    await useBetween(client as unknown as AnyRedisClient)
    client.destroy()
  })

  it('works by URL, when the process trusts the authority', async () => {
    const url = `rediss://app:p%40ss%2Fword@localhost:${tlsPort}`
    const [trusting, other] = await Promise.all([
      outputOf(url, { NODE_EXTRA_CA_CERTS: authority }),
      outputOf(url, {}),
    ])
    expect(trusting).toBe('bigint')
    expect(other).toMatch(/^STORE_UNAVAILABLE .*cannot be reached/)
  })
})

/** A waiter is served by a push, so the inbox listens, too. */
async function useBetween(client: AnyRedisClient): Promise<void> {
  const [one, other] = [0, 1].map(() => createLocks({ store: redis(client, { check: false }) })) as [
    Locks,
    Locks,
  ]
  const lease = await one.acquire('encrypted', { ttl: 30_000 })
  const next = other.acquire('encrypted', { wait: 10_000, ttl: 30_000 })
  await expect.poll(async () => (await one.read('encrypted')).queue.length).toBe(1)
  await lease.release()
  expect((await next).held).toBe(true)
  await one.close()
  await other.close()
}

function outputOf(url: string, env: Record<string, string>): Promise<string> {
  const file = new URL('./programs/by-url.ts', import.meta.url)
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const
  const child = fork(file, [url], {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, ...env },
    stdio: [...stdio],
  })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve) => child.once('close', () => resolve(output.trim())))
}
