import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type ReapedThing } from 'holdfast'
import { redis } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import { RedisInspection } from '../../../src/stores/redis/inspection.ts'
import { Scripting } from '../../../src/stores/redis/scripting.ts'

const server = await startRedis()
const client = new Redis(server.port)
const locks = createLocks({ store: redis(client, { check: false }) })
/** Since when the server runs, and with it the values that all keys share. */
const started = performance.now()
afterAll(async () => {
  await locks.close()
  client.disconnect()
  await server.stop()
})
beforeEach(async () => {
  await client.config('SET', 'maxmemory-policy', 'noeviction')
  await client.flushall()
})

async function reap(older: string | number, remove = true): Promise<Record<string, ReapedThing>> {
  const things: Record<string, ReapedThing> = {}
  for await (const thing of locks.reap({ foreign: ['lock:*'], older, remove })) things[thing.name] = thing
  return things
}

it('keeps a lock with a small number, because the age of a shared value is not its own', async () => {
  await sleep(Math.max(0, 2500 - (performance.now() - started)))
  // Just taken: by a process id, by a number that is no process id, and by one beyond those that are shared.
  await client.mset('lock:pid', '4711', 'lock:one', '1', 'lock:large', '10000')
  expect(Number(await client.call('OBJECT', 'IDLETIME', 'lock:pid'))).toBeGreaterThan(0)
  const kept = { outcome: 'kept', idleMs: null }
  const things = await reap('1s')
  expect(things).toMatchObject({ 'lock:pid': kept, 'lock:one': kept })
  expect(things['lock:large']).toBeUndefined()
  expect(await client.mget('lock:pid', 'lock:one', 'lock:large')).toEqual(['4711', '1', '10000'])
})

it('keeps a lock that was taken just before the clock of the server ticked', async () => {
  const idle = async () => Number(await client.call('OBJECT', 'IDLETIME', 'lock:fresh'))
  await client.set('lock:fresh', 'host:4711')
  while ((await idle()) === 0) await sleep(5)
  expect(await reap('1s')).toEqual({})
  expect(await client.get('lock:fresh')).toBe('host:4711')
})

it('still removes what nobody has used for that long', async () => {
  await client.set('lock:dead', 'host:4711')
  await client.rpush('lock:list', '4711')
  await sleep(2100)
  expect(await reap('1s')).toMatchObject({
    'lock:dead': { outcome: 'removed', idleMs: expect.any(Number) },
    'lock:list': { outcome: 'removed' },
  })
})

it('compares again in the server: a lock that is a small number by then is kept', async () => {
  const adapter = { topology: 'single', cluster: null, keyPrefix: '' } as const
  const send = (command: string, args: readonly string[]) => client.call(command, ...args)
  const scripting = new Scripting({ ...adapter, send, subscribe: () => expect.fail(), close: async () => {} })
  await sleep(Math.max(0, 2500 - (performance.now() - started)))
  await client.set('lock:taken', '4712')
  const remains = {
    kind: 'foreign',
    name: 'lock:taken',
    what: '',
    count: 1,
    blocking: true,
    idleMs: 5000,
    proof: '',
  } as const
  expect(await new RedisInspection(scripting, nodeRuntime, 0).reap([remains], 1000)).toEqual([false])
  expect(await client.get('lock:taken')).toBe('4712')
})

it('knows no age where the server counts how often a key is used', async () => {
  await client.config('SET', 'maxmemory-policy', 'allkeys-lfu')
  await client.set('lock:text', 'host:1')
  expect(await reap('1s')).toMatchObject({ 'lock:text': { outcome: 'kept', idleMs: null } })
})

it('takes it whatever its age, if that is said', async () => {
  await client.set('lock:pid', '4711')
  expect(await reap(0, false)).toMatchObject({ 'lock:pid': { outcome: 'found' } })
  expect(await reap(0)).toMatchObject({ 'lock:pid': { outcome: 'removed' } })
})

it('the doctor says that the age is not known, and names that key alone for removal', async () => {
  await client.set('lock:pid', '4711')
  await client.set('lock:text', 'host:1')
  const { findings } = await locks.doctor({ foreign: ['lock:*'], watch: 0 })
  const foreign = findings.filter(({ code }) => code === 'FOREIGN_NO_TTL')
  expect(foreign.map(({ evidence, fix }) => [evidence, fix]).sort()).toEqual([
    [
      'lock:pid: a string without a ttl, since when is not known',
      expect.stringMatching(/--foreign '?lock:pid'? --older 0s/),
    ],
    [
      expect.stringMatching(/^lock:text: .*not used for/),
      expect.stringMatching(/--foreign 'lock:\*' --older 1h/),
    ],
  ])
})
