import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InvalidArgumentError } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { afterAll, describe, expect, it } from 'vitest'
import { etcdOptionsOf } from '../../../src/stores/etcd/client/url.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-url-'))
const ca = join(folder, 'ca.pem')
writeFileSync(ca, 'a certificate')
afterAll(() => rmSync(folder, { recursive: true }))

describe('an etcd URL', () => {
  it('names members, a user and a password', () => {
    expect(etcdOptionsOf('etcd://ann:se%40cret:2@one:2379,two,[::1]:2381')).toEqual({
      endpoints: ['one:2379', 'two:2379', '[::1]:2381'],
      user: 'ann',
      password: 'se@cret:2',
    })
    expect(etcdOptionsOf('ETCD://one/')).toEqual({ endpoints: ['one:2379'] })
    expect(etcdOptionsOf('etcd://ann@one')).toEqual({ endpoints: ['one:2379'], user: 'ann' })
  })

  it('selects TLS by its scheme or by an option, and names files', () => {
    expect(etcdOptionsOf('etcds://one')).toEqual({ endpoints: ['one:2379'], tls: {} })
    expect(etcdOptionsOf('etcd://one?tls=1')).toEqual({ endpoints: ['one:2379'], tls: {} })
    expect(etcdOptionsOf('etcd://one?tls=false')).toEqual({ endpoints: ['one:2379'] })
    const { tls } = etcdOptionsOf(`etcds://one?ca=${encodeURIComponent(ca)}`)
    expect(String(tls?.ca)).toBe('a certificate')
  })

  it.each([
    'etcd:',
    'etcd://',
    'etcd://one,',
    'etcd://one/path',
    'etcd://one:port',
    'etcd://one:0',
    'etcd://one:65536',
    'etcd://a b',
    'etcd://ann:%ff@one',
    'etcd://one?timeout=5',
    'etcd://one?tls=perhaps',
    'etcd://one?ca=/nowhere/ca.pem',
    'etcds://one?ca=/nowhere/ca.pem',
    'redis://one',
  ])('is refused if it is %s', (url) => {
    expect(() => etcd(etcdOptionsOf(url))).toThrow(InvalidArgumentError)
  })

  it('must not come with certificates that cannot be used', () => {
    expect(() => etcd({ endpoints: ['one:2379'], tls: { cert: 'none', key: 'none' } })).toThrow(
      expect.objectContaining({ argument: 'tls' }),
    )
  })

  it('never shows its password in an error', () => {
    for (const url of ['etcd://ann:secret@one:99999', 'etcd://ann:secret@one?x=1', 'etcd://ann:secret%@one'])
      expect(() => etcd(etcdOptionsOf(url))).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      )
  })
})
