import { GlideClient } from '@valkey/valkey-glide'
import { transaction } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, expect, it } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'

const server = await startRedis()
const operator = new Redis(server.port)

afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

it('keeps to the key prefix of the client', async () => {
  const client = new Redis(server.port, { keyPrefix: 'app:' })
  let changed = false
  const { value, tries } = await transaction(client, ['n'], async (tx) => {
    const n = Number(await tx.read('GET', 'n'))
    if (!changed) await operator.set('app:n', 7)
    changed = true
    tx.queue('SET', 'n', n + 1)
    return n
  })
  expect({ value, tries }).toEqual({ value: 7, tries: 2 })
  expect(await operator.get('app:n')).toBe('8')
  client.disconnect()
})

it('refuses what it cannot do', async () => {
  const glide = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port: server.port }] })
  await expect(transaction(glide as never, ['a'], () => {})).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  glide.close()
  const cluster = new Redis.Cluster([], { lazyConnect: true })
  await expect(transaction(cluster as never, ['a'], () => {})).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  const invalid = { code: 'INVALID_ARGUMENT' }
  await expect(transaction({} as never, ['a'], () => {})).rejects.toMatchObject(invalid)
  await expect(transaction(operator, [], () => {})).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], 'no' as never)).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], () => {}, { tries: 0 })).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], () => {}, { timeout: -1 })).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], (tx) => tx.queue('multi'))).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], (tx) => tx.read('select', 1))).rejects.toMatchObject(invalid)
  await expect(transaction(operator, ['a'], (tx) => tx.queue('SET', {} as never))).rejects.toMatchObject(
    invalid,
  )
})
