import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Locks } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EtcdCluster, startEtcd } from '../../../scripts/servers/etcd.ts'

const opened: Locks[] = []

async function open(url: string): Promise<Locks> {
  const locks = await connect(url, { ttl: 5000 })
  opened.push(locks)
  return locks
}

afterAll(() => Promise.all(opened.map((locks) => locks.close())))

describe('with authentication', () => {
  let cluster: EtcdCluster
  let endpoint: string

  /** By the JSON gateway, as an operator would do it. */
  async function post(path: string, body: object, token = ''): Promise<{ token?: string }> {
    const headers: Record<string, string> = token === '' ? {} : { authorization: token }
    const init = { method: 'POST', body: JSON.stringify(body), headers }
    const answer = await fetch(`http://${endpoint}/v3/auth/${path}`, init)
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as { token?: string }
  }

  beforeAll(async () => {
    cluster = await startEtcd({ members: 1 })
    endpoint = cluster.endpoints[0] as string
    const key = Buffer.from('holdfast/').toString('base64')
    const rangeEnd = Buffer.from('holdfast0').toString('base64')
    await post('role/add', { name: 'locks' })
    await post('role/grant', {
      name: 'locks',
      perm: { permType: 'READWRITE', key, range_end: rangeEnd },
    })
    for (const [name, password] of [
      ['root', 'r00t'],
      ['ann', 'se@cret'],
      ['bob', 'other'],
    ])
      await post('user/add', { name, password })
    await post('user/grant', { user: 'root', role: 'root' })
    await post('user/grant', { user: 'ann', role: 'locks' })
    await post('enable', {})
  })

  afterAll(() => cluster.stop())

  it('locks, waits and watches with only the permissions that the page lists', async () => {
    const [one, two] = [
      await open(`etcd://ann:se%40cret@${endpoint}`),
      await open(`etcd://ann:se%40cret@${endpoint}`),
    ]
    const lease = await one.acquire('key')
    const next = two.acquire('key', { wait: 10_000 })
    await expect.poll(async () => (await one.read('key')).queue.length, { timeout: 5000 }).toBe(1)
    await lease.release()
    const token = (await next).token as bigint
    expect(token).toBeGreaterThan(lease.token as bigint)
    await (await next).release()
    expect(await one.once('request', { ttl: '1m' }, () => 'done')).toBe('done')
  })

  it('goes on when the auth tokens have expired', async () => {
    const locks = await open(`etcd://ann:se%40cret@${endpoint}`)
    const lease = await locks.acquire('kept', { ttl: 60_000 })
    // They are in the memory of the member alone.
    await cluster.members[0]?.kill()
    await cluster.members[0]?.restart()
    await expect.poll(() => locks.using('again', () => 'yes').catch(String), { timeout: 10_000 }).toBe('yes')
    expect(lease.held).toBe(true)
    await lease.extend('30s')
    expect(await lease.release()).toBe('released')
  })

  it.each([
    ['a wrong password', 'ann:guessed'],
    ['nobody', ''],
    ['a user without the role', 'bob:other'],
  ])('refuses %s, and says so without the password', async (_, user) => {
    const url = `etcd://${user}${user === '' ? '' : '@'}${endpoint}`
    const error = await connect(url).then(
      () => null,
      (reason: Error) => reason,
    )
    expect(error).toMatchObject({ code: expect.stringMatching(/UNSUPPORTED|STORE_UNAVAILABLE/) })
    expect(error?.message).toMatch(/auth|permission|user name/)
    expect(error?.message).not.toMatch(/guessed|other/)
  })
})

describe('over TLS', () => {
  let cluster: EtcdCluster
  let endpoint: string
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))
  const file = (name: string): string => join(folder, name)

  function openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  }

  /** A key, and a certificate that the authority of this test has signed. */
  function certify(name: string): void {
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    )
    const signing = [
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '1',
      '-extfile',
      'names',
    ]
    openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.pem`)
  }

  beforeAll(async () => {
    writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n')
    openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-days',
      '1',
      '-subj',
      '/CN=authority',
    )
    certify('server')
    certify('client')
    const own = ['--cert-file', file('server.pem'), '--key-file', file('server.key')]
    const args = [...own, '--client-cert-auth', '--trusted-ca-file', file('ca.pem')]
    cluster = await startEtcd({ members: 1, scheme: 'https', args })
    endpoint = cluster.endpoints[0] as string
  })

  afterAll(async () => {
    await cluster.stop()
    rmSync(folder, { recursive: true })
  })

  const query = (...names: ('ca' | 'cert' | 'key')[]): string => {
    const files = { ca: 'ca.pem', cert: 'client.pem', key: 'client.key' }
    return names.map((name) => `${name}=${encodeURIComponent(file(files[name]))}`).join('&')
  }

  it('locks with a certificate of its own', async () => {
    const locks = await open(`etcds://${endpoint}?${query('ca', 'cert', 'key')}`)
    expect(await locks.using('key', ({ token }) => typeof token)).toBe('bigint')
  })

  it.each([
    ['an authority that it does not know', () => `etcds://${endpoint}?${query('cert', 'key')}`],
    ['a client without a certificate', () => `etcds://${endpoint}?${query('ca')}`],
    ['a connection in clear text', () => `etcd://${endpoint}`],
  ])('refuses %s', async (_, url) => {
    await expect(connect(url())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})
