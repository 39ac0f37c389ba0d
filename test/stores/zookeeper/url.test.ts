import { InvalidArgumentError } from 'holdfast'
import { zookeeper } from 'holdfast/zookeeper'
import { describe, expect, it } from 'vitest'
import { zooKeeperAddressOf } from '../../../src/stores/zookeeper/client/url.ts'

describe('a ZooKeeper URL', () => {
  it('names servers, a path and credentials', () => {
    expect(zooKeeperAddressOf('zookeeper://ann:se%40cret:2@h1:2181,h2,[::1]:2183/services/locks/')).toEqual({
      servers: [
        { host: 'h1', port: 2181 },
        { host: 'h2', port: 2181 },
        { host: '::1', port: 2183 },
      ],
      chroot: '/services/locks',
      user: { user: 'ann', password: 'se@cret:2' },
      auth: null,
      tls: null,
    })
    expect(zooKeeperAddressOf('zookeeper://h1')).toEqual({
      servers: [{ host: 'h1', port: 2181 }],
      chroot: '',
      user: null,
      auth: null,
      tls: null,
    })
  })

  it('selects the login, and TLS by its scheme or by a parameter', () => {
    expect(zooKeeperAddressOf('zookeeper://ann:secret@h1/path?auth=sasl')).toMatchObject({
      auth: 'sasl',
      tls: null,
    })
    expect(zooKeeperAddressOf('ZooKeeper+TLS://h1')).toMatchObject({ auth: null, tls: {} })
    expect(zooKeeperAddressOf('zookeeper://h1?tls=1')).toMatchObject({ tls: {} })
  })

  it.each([
    'zookeeper:',
    'zookeeper://',
    'zookeeper://h1,',
    'zookeeper://h1:0',
    'zookeeper://h1:65536',
    'zookeeper://h1:port',
    'zookeeper://ann@h1',
    'zookeeper://h1/a//b',
    'zookeeper://h1/a/../b',
    'zookeeper://h1/zookeeper/locks',
    'zookeeper://h1/a%00b',
    'zookeeper://h1/%ff',
    'zookeeper://h1/path?timeout=5',
    'zookeeper://h1?tls=perhaps',
    'zookeeper://h1?ca=/nowhere/ca.pem',
    'zookeeper+tls://h1?ca=/nowhere/ca.pem',
    'zookeeper+ssl://h1',
    'zookeeper://ann:secret@h1?auth=kerberos',
    'redis://h1',
  ])('is refused if it is %s', (url) => {
    expect(() => zooKeeperAddressOf(url)).toThrow(InvalidArgumentError)
  })

  it('never shows its password in an error', () => {
    for (const rest of ['h1:99999', 'h1?x=1', 'h1?auth=other', 'h1?ca=/nowhere/ca.pem', 'h1?tls=2'])
      expect(() => zooKeeperAddressOf(`zookeeper+tls://ann:secret@${rest}`)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      )
  })

  it.each([
    ['auth', 'zookeeper://h1?auth=sasl', {}],
    ['auth', 'zookeeper://h1', { auth: 'digest' }],
    ['auth', 'zookeeper://ann:secret@h1', { auth: 'kerberos' as 'sasl' }],
    ['user', 'zookeeper://ann:secret@h1', { user: 'bob', password: 'secret' }],
    ['user', 'zookeeper://h1', { password: 'secret' }],
    ['password', 'zookeeper://h1', { user: 'bob' }],
    ['tls', 'zookeeper+tls://h1', { tls: { cert: 'none', key: 'none' } }],
    ['tls', 'zookeeper+tls://h1', { tls: { crt: 'none' } as object }],
  ] as const)('with options that do not fit names %s', (argument, url, options) => {
    expect(() => zookeeper(url, options)).toThrow(expect.objectContaining({ argument }))
  })

  it('must be a text', () => {
    expect(() => zookeeper({} as string)).toThrow(InvalidArgumentError)
  })
})
