import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { connect, createLocks, type Locks } from 'holdfast'
import { conformanceCases } from 'holdfast/testing'
import { zookeeper } from 'holdfast/zookeeper'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type Certificates, makeCertificates } from '../../../scripts/servers/certificates.ts'
import { startProxy, type TcpProxy } from '../../../scripts/servers/proxy.ts'
import { startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { failure } from '../../core/support.ts'

const PASSWORD = 's3cret-canary'
const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
const own = certificatesIn('own')
const foreign = certificatesIn('foreign')
const ensemble = await startZooKeeper({ tls: { ...own, clients: 'need' }, users: { ann: PASSWORD } })
const [plain, secure] = await Promise.all([
  Promise.all(ensemble.members.map(({ port }) => startProxy(port))),
  Promise.all(ensemble.members.map(({ securePort }) => startProxy(securePort))),
])
const proxies = [...plain, ...secure]
const opened: Locks[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close()))
})
afterAll(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()))
  await ensemble.stop()
  rmSync(folder, { recursive: true, force: true })
})

function certificatesIn(name: string): Certificates {
  const position = join(folder, name)
  mkdirSync(position)
  return makeCertificates(position)
}

/** The parameters of a URL: which authority is trusted, and who we are. */
function files({ authority }: Certificates, client: Certificates | null): string {
  const named = { ca: authority, ...(client && { cert: client.certificate, key: client.key }) }
  return new URLSearchParams(named).toString()
}

function hostsOf(through: readonly TcpProxy[]): string {
  return through.map(({ port }) => `127.0.0.1:${port}`).join(',')
}

async function open(url: string): Promise<Locks> {
  const locks = await connect(url, { ttl: 5000 })
  opened.push(locks)
  return locks
}

/** A lock is had, waited for and handed on, across two connections. */
async function useBetween(one: Locks, two: Locks): Promise<void> {
  const lease = await one.acquire('key')
  const next = two.acquire('key', { wait: 10_000 })
  await expect.poll(async () => (await one.read('key')).queue.length, { timeout: 5000 }).toBe(1)
  await lease.release()
  const second = await next
  expect(second.token).toBeGreaterThan(lease.token as bigint)
  await second.release()
}

describe('over TLS', () => {
  it('locks and waits, with certificates that the URL names', async () => {
    const url = `zookeeper+tls://${ensemble.secureHosts}/tls?${files(own, own)}`
    await useBetween(await open(url), await open(url))
  })

  it('takes certificates from options', async () => {
    const tls = {
      ca: readFileSync(own.authority),
      cert: readFileSync(own.certificate, 'utf8'),
      key: readFileSync(own.key),
    }
    for (const scheme of ['zookeeper', 'zookeeper+tls']) {
      const locks = createLocks({ store: zookeeper(`${scheme}://${ensemble.secureHosts}/tls`, { tls }) })
      opened.push(locks)
      expect(await locks.using('key', ({ token }) => typeof token)).toBe('bigint')
    }
  })

  it.each([
    [
      'an authority that is not trusted',
      () => `${ensemble.secureHosts}?${files(foreign, own)}`,
      /not trusted.*ca$/,
    ],
    [
      'a client without a certificate',
      () => `${ensemble.secureHosts}?${files(own, null)}`,
      /client certificate/,
    ],
    [
      'a client that it does not trust',
      () => `${ensemble.secureHosts}?${files(own, foreign)}`,
      /client certificate/,
    ],
    ['a port without TLS', () => `${ensemble.hosts}?${files(own, own)}`, /no TLS is spoken.*check the port/],
  ])('refuses %s, and says what to look at', async (_, rest, message) => {
    const error = await failure(connect(`zookeeper+tls://ann:${PASSWORD}@${rest()}`))
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringMatching(message) })
    expect(error.message).not.toContain(PASSWORD)
  })

  it('refuses a server whose certificate is for another host', async () => {
    const [cert, key] = [readFileSync(own.certificate), readFileSync(own.key)]
    let greetings = 0
    const other = createServer({ cert, key }, (socket) => {
      socket.on('data', () => greetings++)
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.2', resolve))
    try {
      const host = `127.0.0.2:${(other.address() as AddressInfo).port}`
      const error = await failure(connect(`zookeeper+tls://${host}?${files(own, own)}`))
      expect(error.message).toMatch(/127\.0\.0\.2 is not in the cert's list/)
      for (let round = 0; round < 4; round++) {
        const locks = await open(`zookeeper+tls://${host},${ensemble.secureHosts}/tls?${files(own, own)}`)
        expect(await locks.using('key', () => 'had')).toBe('had')
      }
      expect(greetings).toBe(0)
    } finally {
      other.close()
    }
  })

  const target = {
    name: 'zookeeper over TLS',
    open: () => zookeeper(`zookeeper+tls://${ensemble.secureHosts}/conform?${files(own, own)}`),
  }
  const cases = conformanceCases(target).filter(({ topic }) => /^(?:exclusion|fencing|waiting)$/.test(topic))
  it('has cases to conform to', () => expect(cases.length).toBeGreaterThan(5))
  for (const { topic, name, run } of cases) it.concurrent(`${topic}: ${name}`, run)
})

describe('with a login by SASL', () => {
  const url = (password: string, hosts = ensemble.hosts) =>
    `zookeeper://ann:${password}@${hosts}/sasl?auth=sasl`

  it('locks and waits, and gives every node to its user alone', async () => {
    await useBetween(await open(url(PASSWORD)), await open(url(PASSWORD)))
    const stranger = await failure(connect(`zookeeper://${ensemble.hosts}/sasl`))
    expect(stranger).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/credentials.*NoAuth/),
    })
  })

  it('takes the user from options', async () => {
    const options = { user: 'ann', password: PASSWORD, auth: 'sasl' } as const
    const locks = createLocks({ store: zookeeper(`zookeeper://${ensemble.hosts}/sasl`, options) })
    opened.push(locks)
    expect(await locks.using('key', ({ token }) => typeof token)).toBe('bigint')
  })

  it.each([
    ['a wrong password', 'ann:guessed'],
    ['an unknown user', 'bob:guessed'],
  ])('refuses %s at once, and says what to look at', async (_, user) => {
    const wrong = `zookeeper://${user}@${ensemble.hosts}/sasl?auth=sasl`
    const error = await failure(connect(wrong))
    expect(error).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/credentials.*check the user, the password/),
    })
    expect(error.message).not.toContain('guessed')
    const locks = createLocks({ store: zookeeper(wrong) })
    opened.push(locks)
    for (let round = 0; round < 2; round++)
      expect(await failure(locks.acquire('key', { wait: '30s' }))).toMatchObject({ code: 'UNSUPPORTED' })
  })

  it.each([
    ['in clear text', () => url(PASSWORD, hostsOf(plain))],
    [
      'over TLS',
      () => `zookeeper+tls://ann:${PASSWORD}@${hostsOf(secure)}/sasl?auth=sasl&${files(own, own)}`,
    ],
  ])('logs in again after a connection was cut, %s', async (_, urlOf) => {
    const [locks, other] = [await open(urlOf()), await open(urlOf())]
    const lease = await locks.acquire('kept')
    const next = other.acquire('kept', { wait: 20_000 })
    await expect.poll(async () => (await locks.read('kept')).queue.length, { timeout: 5000 }).toBe(1)
    for (let round = 0; round < 3; round++) {
      for (const proxy of proxies) proxy.reset()
      await expect.poll(() => locks.using('more', () => 'had').catch(String), { timeout: 5000 }).toBe('had')
    }
    expect(lease.held).toBe(true)
    expect(await lease.release()).toBe('released')
    expect(await (await next).release()).toBe('released')
  })
})

describe('servers without users, or that require a login', () => {
  it('are told apart from a wrong password', async () => {
    const settings = ['sessionRequireClientSASLAuth=true']
    const [open, closed] = await Promise.all([
      startZooKeeper({ size: 1 }),
      startZooKeeper({ size: 1, users: { ann: PASSWORD }, settings }),
    ])
    try {
      const unknown = await failure(connect(`zookeeper://ann:${PASSWORD}@${open.hosts}?auth=sasl`))
      expect(unknown).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringMatching(/no SASL login/) })
      const stranger = await failure(connect(`zookeeper://${closed.hosts}`))
      expect(stranger).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringMatching(/RequiresSasl/) })
      const wrong = await failure(connect(`zookeeper://ann:guessed@${closed.hosts}?auth=sasl`))
      expect(wrong).toMatchObject({ code: 'UNSUPPORTED', message: expect.stringMatching(/check the user/) })
      await (await connect(`zookeeper://ann:${PASSWORD}@${closed.hosts}?auth=sasl`)).close()
    } finally {
      await Promise.all([open.stop(), closed.stop()])
    }
  })
})
