import { readFileSync } from 'node:fs'
import { connect, type Locks } from 'holdfast'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { lockName } from '../../../src/stores/redis/names.ts'
import { failure } from '../../core/support.ts'

/** The scripts of processes that keep a lock in one string, format 1. */
const OLD = JSON.parse(readFileSync(new URL('./fixtures/version-1.json', import.meta.url), 'utf8')) as Record<
  'attempt' | 'renew' | 'release' | 'read',
  string
>
const KEYS = ['a', 'b', 'c']
const oldName = (key: string): string => `holdfast:lock:{${key}}`

const server = await startRedis()
const operator = new Redis(server.port)
let locks: Locks

beforeEach(async () => {
  locks = await connect(server.url)
})
afterEach(async () => {
  await locks.close()
  await operator.flushall()
})
afterAll(async () => {
  operator.disconnect()
  await server.stop()
})

/** A claim as processes of format 1 send it: exclusive, and alone or the first of several that are alike but for their ids. */
function oldClaim(id: string, letter: 'x' | 'X'): string {
  return [`${letter}0000060000${id}`, 'old inbox', 'old label', '', '', '0', '1000600009'].join('\0')
}

function runOld(
  script: keyof typeof OLD,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  return operator.eval(OLD[script], keys.length, ...keys.map(oldName), ...args)
}

const claimOneByOne = () => Promise.all(KEYS.map((key) => runOld('attempt', [key], [oldClaim(key, 'x')])))
const claimTogether = () => runOld('attempt', KEYS, [oldClaim('a', 'X'), 'b', 'c']) as Promise<unknown[]>

describe('an old process on a key of a new one', () => {
  it.each([
    ['that is held', async () => void (await Promise.all(KEYS.map((key) => locks.acquire(key))))],
    [
      'that is free again',
      async () => void (await Promise.all(KEYS.map((key) => locks.using(key, () => {})))),
    ],
    [
      'that readers hold',
      async () => void (await Promise.all(KEYS.map((key) => locks.rw(key).read.acquire()))),
    ],
  ])('%s is refused, alone and in a batch', async (_, prepare) => {
    await prepare()
    const before = await Promise.all(KEYS.map((key) => operator.hgetall(lockName(key))))
    expect(await claimOneByOne()).toEqual(KEYS.map(() => [['format']]))
    expect(await claimTogether()).toEqual(KEYS.map(() => ['format']))
    expect(
      await runOld(
        'renew',
        KEYS,
        KEYS.map((key) => `0000060000${key}`),
      ),
    ).toEqual([-1, -1, -1])
    expect(await runOld('release', KEYS, KEYS)).toEqual([-1, -1, -1])
    expect((await runOld('read', KEYS, [])) as unknown[]).toEqual([expect.any(Number), -1, -1, -1])
    expect(await Promise.all(KEYS.map((key) => operator.hgetall(lockName(key))))).toEqual(before)
  })

  it('is refused for as long as the new one remembers the key', async () => {
    await locks.acquire('a', { ttl: 60_000 })
    const [lives, marked] = await Promise.all([operator.pttl(lockName('a')), operator.pttl(oldName('a'))])
    expect(Math.abs(lives - marked)).toBeLessThan(1000)
    expect(lives).toBeGreaterThan(86_400_000)
  })
})

describe('a new process on a key of an old one', () => {
  it.each([
    ['that is held', claimOneByOne],
    [
      'that is free again',
      async () => {
        await claimTogether()
        await runOld('release', KEYS, KEYS)
      },
    ],
  ])('%s is refused with a reason, alone and in a batch', async (_, prepare) => {
    await prepare()
    const before = await operator.mget(KEYS.map(oldName))
    expect(await failure(locks.acquire('a', { wait: 0 }))).toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('format'),
    })
    for (const problem of await Promise.all(KEYS.map((key) => failure(locks.acquire(key, { wait: 0 })))))
      expect(problem.message).toContain('format')
    await expect(locks.read('a')).rejects.toThrow(/format/)
    await expect(locks.evict('a')).rejects.toThrow(/format/)
    expect(await operator.mget(KEYS.map(oldName))).toEqual(before)
    expect(await operator.exists(KEYS.map(lockName))).toBe(0)
  })
})
