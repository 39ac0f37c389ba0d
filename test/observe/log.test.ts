import { connect, StoreError } from 'holdfast'
import { type Logger, logTo } from 'holdfast/observe'
import { expect, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { failure, Scene } from '../core/support.ts'

class Lines implements Logger {
  readonly all: [level: string, fields: Record<string, unknown>, message: string][] = []
  info = (fields: object, message: string) => void this.all.push(['info', { ...fields }, message])
  warn = (fields: object, message: string) => void this.all.push(['warn', { ...fields }, message])
  error = (fields: object, message: string) => void this.all.push(['error', { ...fields }, message])
}

test('failures are written, within bounds, and every logger can write them', async () => {
  const scene = new Scene()
  const [a, b] = [scene.party(), scene.party()]
  const lines = new Lines()
  const stop = logTo(b.locks, lines)
  const { runtime } = scene
  const lease = await runtime.until(b.locks.acquire('k'))
  await runtime.until(a.locks.evict('k'))
  await runtime.drain()
  expect(lines.all).toEqual([
    [
      'error',
      expect.objectContaining({ event: 'lost', key: 'k', cause: 'evicted', token: String(lease.token) }),
      'a lease was lost',
    ],
  ])
  lines.all.length = 0
  await runtime.until(a.locks.acquire('k'))
  for (let tried = 0; tried < 30; tried++) await runtime.until(failure(b.locks.acquire('k', { wait: 1 })))
  // All within the second, unless it ended meanwhile.
  expect(lines.all.length).toBeGreaterThanOrEqual(10)
  expect(lines.all.length).toBeLessThanOrEqual(20)
  stop()
  const written = lines.all.length
  await runtime.until(failure(b.locks.acquire('k', { wait: 1 })))
  expect(lines.all).toHaveLength(written)
  expect(() => JSON.stringify(lines.all)).not.toThrow()
})

test('a password is never written, whatever the client says', async () => {
  const server = await startRedis({ args: ['--requirepass', 'hush-hush'] })
  const url = server.url.replace('//', '//:hush-hush@')
  await using locks = await connect(url, { callTimeout: 200 })
  const lines = new Lines()
  logTo(locks, lines)
  await server.stop()
  await expect(locks.acquire('k', { wait: 50 })).rejects.toThrow(StoreError)
  expect(lines.all.some(([level]) => level === 'error')).toBe(true)
  expect(JSON.stringify(lines.all)).not.toContain('hush-hush')
})
