import type { EventEmitter } from 'node:events'
import { etcd } from 'holdfast/etcd'
import { expect, test } from 'vitest'
import { freePort } from '../../../scripts/servers/ports.ts'
import { Channel } from '../../../src/stores/etcd/client/channel.ts'
import { claimOf } from '../sqlite/claims.ts'

test('a batch without any answer rejects once and leaves no unhandled rejection', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown) => unheard.push(reason)
  process.on('unhandledRejection', hear)
  const store = etcd({ endpoints: [`127.0.0.1:${await freePort()}`] })
  try {
    // One of them replaces another claim, so it is sent by itself.
    const batch = [claimOf('a'), claimOf('b', { replaces: 'another' }), claimOf('c')]
    await expect(store.attempt(batch)).rejects.toThrow()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(unheard).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
    await store.close()
  }
})

test('a connection that is destroyed just before it connects throws nothing', async () => {
  const channel = new Channel(`127.0.0.1:${await freePort()}`, null, () => {})
  channel.destroy(new Error('given up'))
  // Node tells of a connection a turn after it came about, whatever became of it since.
  const { session } = channel as unknown as { session: EventEmitter }
  expect(() => session.emit('connect')).not.toThrow()
  expect(channel.connected).toBe(false)
})
