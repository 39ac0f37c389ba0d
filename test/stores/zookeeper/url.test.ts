import { InvalidArgumentError } from 'holdfast'
import { zookeeper } from 'holdfast/zookeeper'
import { describe, expect, it } from 'vitest'
import { addressOf } from '../../../src/stores/zookeeper/url.ts'

describe('a URL of ZooKeeper', () => {
  it('names servers, a path and credentials', () => {
    expect(addressOf('zookeeper://ann:se%40cret:2@h1:2181,h2,[::1]:2183/services/locks/')).toEqual({
      servers: [
        { host: 'h1', port: 2181 },
        { host: 'h2', port: 2181 },
        { host: '::1', port: 2183 },
      ],
      chroot: '/services/locks',
      auth: { user: 'ann', password: 'se@cret:2' },
    })
    expect(addressOf('zookeeper://h1')).toEqual({
      servers: [{ host: 'h1', port: 2181 }],
      chroot: '',
      auth: null,
    })
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
    'redis://h1',
  ])('is refused if it is %s', (url) => {
    expect(() => addressOf(url)).toThrow(InvalidArgumentError)
  })

  it('never shows its password in an error', () => {
    expect(() => addressOf('zookeeper://ann:secret@h1:99999')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    )
  })

  it('must be a text', () => {
    expect(() => zookeeper({} as string)).toThrow(InvalidArgumentError)
  })
})
