import { etcd } from 'holdfast/etcd'
import { expect, test } from 'vitest'
import { freePort } from '../../../scripts/servers/ports.ts'
import { claimOf } from '../sqlite/claims.ts'

test('a batch of which all parts fail rejects once, and no part of it is left unheard', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown) => unheard.push(reason)
  process.on('unhandledRejection', hear)
  const store = etcd({ endpoints: [`127.0.0.1:${await freePort()}`] })
  try {
    // One of them takes the place of another claim, so that it goes by itself.
    const batch = [claimOf('a'), claimOf('b', { replaces: 'another' }), claimOf('c')]
    await expect(store.attempt(batch)).rejects.toThrow()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(unheard).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
    await store.close()
  }
})
