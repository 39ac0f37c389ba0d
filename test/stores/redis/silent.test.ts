import { fork } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { connect, createLocks, StoreError } from 'holdfast'
import { redis } from 'holdfast/redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { failure } from '../../core/support.ts'
import { CLIENTS } from './clients.ts'
import { startStalling } from './stalling.ts'

/** Of the locks over a client that was brought. */
const CALL_TIMEOUT_MS = 5000
/** A busy machine may add this to a deadline. */
const SLACK_MS = 3000

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

async function stalling(targetPort = server.port) {
  const way = await startStalling(targetPort)
  onTestFinished(() => way.close())
  return way
}

function freeze(which: RedisServer): () => void {
  const { pid } = which
  process.kill(pid, 'SIGSTOP')
  const thaw = () => void process.kill(pid, 'SIGCONT')
  onTestFinished(thaw)
  return thaw
}

describe('connecting by URL to a server that accepts and says nothing', () => {
  it.each(['ioredis', 'ioredis6', 'redis', 'redis5'])(
    '%s: rejects in time and leaves nothing behind',
    async (library) => {
      const way = await stalling()
      way.serve(0)
      const frozen = await startRedis()
      onTestFinished(() => frozen.stop())
      freeze(frozen)
      const kinds = [
        'redis://HOST',
        'redis+sentinel://HOST/service',
        'redis+cluster://HOST',
        'redlock://HOST',
      ]
      const ports = [way.port, frozen.port]
      const urls = ports.flatMap((port) => kinds.map((kind) => kind.replace('HOST', `127.0.0.1:${port}`)))
      const { outcomes, lingeredMs } = await outcomesOf(library, urls)
      expect(outcomes).toHaveLength(8)
      for (const { url, name, code, message, tookMs } of outcomes) {
        expect([name, code], url).toEqual(['StoreError', 'STORE_UNAVAILABLE'])
        expect(message).toContain(/127\.0\.0\.1:\d+/.exec(url)?.[0])
        expect(message).toMatch(/no answer within (500|250) ms|in 250ms/)
        expect(tookMs, url).toBeLessThan(500 + SLACK_MS)
      }
      expect(lingeredMs).toBeLessThan(SLACK_MS)
    },
  )
})

describe('with a server that stands still', () => {
  it('every call ends with its deadline, and everything goes on afterwards', async () => {
    const frozen = await startRedis()
    onTestFinished(() => frozen.stop())
    const locks = await connect(frozen.url, { callTimeout: 300 })
    onTestFinished(() => locks.close())
    await locks.using('key', () => {})
    const thaw = freeze(frozen)
    const failures = [
      failure(locks.acquire('key', { wait: 0 })),
      failure(locks.read('key')),
      failure(locks.list()[Symbol.asyncIterator]().next()),
    ]
    // Sent later, it is still unanswered when the connection is replaced, and must say why.
    await setTimeout(150)
    failures.push(failure(locks.read('sent later')))
    for (const error of await Promise.all(failures)) {
      expect(error).toBeInstanceOf(StoreError)
      expect(error.message).toContain('no answer within 300 ms')
    }
    thaw()
    await expect.poll(() => locks.using('key', () => 'back').catch(() => null)).toBe('back')
  })
})

describe.each(Object.keys(CLIENTS))('with a client of %s that was brought', (name) => {
  it.concurrent('connections that fall silent are replaced after the deadline', async ({
    expect,
    onTestFinished,
  }) => {
    const way = await startStalling(server.port)
    const { client, close } = await (CLIENTS[name] ?? expect.fail())(way.port, 'silent')
    const locks = createLocks({ store: redis(client, { check: false }) })
    const holder = await connect(server.url)
    onTestFinished(async () => {
      await locks.close()
      await close()
      await holder.close()
      await way.close()
    })
    const key = `held for ${name}`
    await using lease = await holder.acquire(key)
    const waiter = locks.acquire(key, { wait: 60_000 })
    await expect.poll(async () => (await holder.read(key)).queue.length).toBe(1)
    way.stall()
    const stalledAtMs = performance.now()
    const again = () => locks.using(`free for ${name}`, { wait: 0 }, () => 'back').catch(() => null)
    await expect.poll(again, { timeout: 20_000 }).toBe('back')
    expect(performance.now() - stalledAtMs).toBeLessThan(CALL_TIMEOUT_MS + SLACK_MS)
    // The one that listens is replaced, too: a probe is not heard, which is noticed at the second look.
    await expect.poll(() => way.answering(), { timeout: 4 * CALL_TIMEOUT_MS }).toBeGreaterThanOrEqual(2)
    await lease.release()
    expect((await waiter).held).toBe(true)
  }, 60_000)

  it.concurrent('a subscription that hangs does not hold up the claims', async ({
    expect,
    onTestFinished,
  }) => {
    const way = await startStalling(server.port)
    const { client, close } = await (CLIENTS[name] ?? expect.fail())(way.port, 'deaf')
    await redis(client, { check: false }).admin.read('connected')
    way.serve(0)
    const locks = createLocks({ store: redis(client, { check: false }), callTimeout: 3000 })
    onTestFinished(async () => {
      await locks.close()
      await close()
      await way.close()
    })
    expect(await locks.using(`deaf ${name}`, () => 'done')).toBe('done')
    const before = way.answering()
    way.serve(Number.POSITIVE_INFINITY)
    await expect.poll(() => way.answering(), { timeout: 3 * CALL_TIMEOUT_MS }).toBeGreaterThan(before)
  }, 60_000)
})

interface Outcome {
  readonly url: string
  readonly name: string
  readonly code: string
  readonly message: string
  readonly tookMs: number
}

function outcomesOf(library: string, urls: readonly string[]) {
  const file = new URL('./programs/by-library.ts', import.meta.url)
  const child = fork(file, [library, ...urls], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  child.channel?.unref()
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  return new Promise<{ outcomes: Outcome[]; lingeredMs: number }>((resolve) => {
    child.once('close', () => {
      // One of the libraries prints its own errors, too.
      const [first = '[]', second = '{}'] = output.split('\n').filter((line) => /^[[{]/.test(line))
      resolve({ outcomes: JSON.parse(first), lingeredMs: JSON.parse(second).lingeredMs })
    })
  })
}
