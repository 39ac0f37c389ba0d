import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import { connect, type LocksOptions, LockTimeoutError } from '../../src/index.ts'
import { Bench } from '../cli/support/command.ts'

const RUNBOOK = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
const HOUR_MS = 3_600_000
const LONG_MS = 30_000

const bench = new Bench()
let server: RedisServer
let tool: Redis

beforeAll(async () => {
  server = await startRedis({ args: ['--save', ''] })
  tool = new Redis(server.url)
  tool.on('error', () => {})
}, LONG_MS)

beforeEach(async () => {
  await tool.flushall()
})

afterAll(async () => {
  tool?.disconnect()
  await server?.stop()
})

/** Types a command of the runbook, with this test's own token and further arguments where it has others. */
async function typed(documented: string, more: readonly string[] = [], token?: bigint | null) {
  expect(RUNBOOK, documented).toContain(documented)
  const words = documented.split(/ +/).slice(1)
  const args = words.map((word) => (/^\d{18}$/.test(word) ? String(token) : word))
  return await bench.holdfast([...args, ...more], { HOLDFAST_STORE: server.url })
}

async function process_(label: string, options: LocksOptions = {}) {
  const locks = await connect(server.url, { label, ...options })
  locks.on('warning', () => {})
  return locks
}

describe('the runbook', () => {
  it(
    'low success rate: top shows the longest line, its holder and who is next',
    async () => {
      await using slow = await process_('slow:1')
      await using eager = await process_('eager:1')
      await using _lease = await slow.acquire('order:42')
      await using _other = await slow.acquire('order:43')
      const failed = [1, 2, 3].map(() => eager.acquire('order:42', { wait: '50ms' }).catch((error) => error))
      for (const outcome of await Promise.all(failed)) expect(outcome).toBeInstanceOf(LockTimeoutError)
      const waiting = eager.acquire('order:42', { wait: '20s' }).catch(() => {})
      while ((await slow.read('order:42')).queue.length === 0) await sleep(5)
      const { stdout } = await typed('holdfast top')
      expect(stdout.split('\n')[2]).toMatch(/^order:42 +slow:1 +exclusive .* 1 +eager:1/)
      const diagnosis = JSON.parse((await typed('holdfast doctor', ['--json', '--stuck', '500ms'])).stdout)
      expect(diagnosis.findings).toContainEqual(
        expect.objectContaining({ code: 'LINE_STUCK', key: 'order:42' }),
      )
      await eager.close()
      await waiting
    },
    LONG_MS,
  )

  it(
    'long waits: doctor names the holder, and asking it frees the key',
    async () => {
      await using slow = await process_('slow:1')
      await using eager = await process_('eager:1')
      const lease = await slow.acquire('order:42')
      lease.on('revoked', () => void lease.release())
      const waiting = eager.acquire('order:42', { wait: '20s' })
      await sleep(300)
      const { code, stdout } = await typed('holdfast doctor --usual 2s', ['--usual', '20ms'])
      expect(code).toBeGreaterThan(0)
      expect(stdout).toMatch(
        /HELD_TOO_LONG {2}order:42\n {2}seen {3}slow:1 has held it for .*; usual is 20 ms, as you say; 1 waiting/,
      )
      expect(stdout).toMatch(
        new RegExp(`fix +holdfast evict order:42 --token ${lease.token} --ask --wait 30s`),
      )
      const asked = await typed('holdfast evict order:42 --ask --wait 30s', ['--yes'])
      expect(asked).toMatchObject({ code: 0 })
      await using granted = await waiting
      expect(granted.token).toBeGreaterThan(lease.token as bigint)
    },
    LONG_MS,
  )

  it(
    'a suspected deadlock: the circle is drawn',
    async () => {
      await using one = await process_('one:1', { onDeadlock: 'report' })
      await using two = await process_('two:2', { onDeadlock: 'report' })
      let bothHold = () => {}
      const both = new Promise<void>((resolve) => {
        bothHold = resolve
      })
      let holders = 0
      const crosswise = (locks: typeof one, first: string, second: string) =>
        locks.using(first, async () => {
          if (++holders === 2) bothHold()
          await both
          await locks.using(second, { wait: '8s' }, () => {})
        })
      const ends = [crosswise(one, 'a', 'b'), crosswise(two, 'b', 'a')].map((each) => each.catch(() => {}))
      // A wait of less than a second is nobody's business yet.
      await new Promise<void>((resolve) => {
        one.on('deadlock', () => resolve())
      })
      const { code, stdout } = await typed('holdfast deadlocks')
      expect(code).toBe(1)
      expect(stdout).toMatch(/one:1[\s\S]*holds a/)
      expect(stdout).toMatch(/two:2[\s\S]*holds b/)
      await one.close()
      await Promise.all(ends)
    },
    LONG_MS,
  )

  it(
    'lost leases: show tells who evicted it, doctor that the ttl is too short',
    async () => {
      await using worker = await process_('worker:1')
      const lease = await worker.acquire('order:42')
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      await typed('holdfast evict order:42 --token 459464135346944000 --yes', [], lease.token)
      await lost
      const { stdout } = await typed('holdfast show order:42')
      expect(stdout).toMatch(new RegExp(`@.* +evicted +worker:1 \\(token ${lease.token}, had it for`))
      const hasty = await process_('hasty:1', { habits: true })
      const leases = await Promise.all(
        Array.from({ length: 25 }, (_, at) => hasty.acquire(`report:${at}`, { ttl: '200ms', renew: false })),
      )
      await Promise.all(
        leases.map(({ signal }) => new Promise((done) => signal.addEventListener('abort', done))),
      )
      await hasty.close()
      const diagnosis = await typed('holdfast doctor')
      expect(diagnosis.stdout).toMatch(
        /TTL_TOO_SHORT {2}report:\*\n {2}seen .*25 ran out before the work was done/,
      )
    },
    LONG_MS,
  )

  it(
    'after a failover: doctor tells that the server keeps nothing, the old holder is told, tokens rise',
    async () => {
      await using before = await process_('before:1')
      await using after = await process_('after:1')
      const lease = await before.acquire('order:42', { ttl: '2s' })
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      await server.kill()
      await server.start()
      await using next = await again(() => after.acquire('order:42', { wait: '5s' }))
      expect(next.token).toBeGreaterThan(lease.token as bigint)
      await lost
      const { stdout } = await typed('holdfast doctor')
      expect(stdout).toMatch(/STORE_AT_RISK\n {2}seen .* keeps nothing over a restart/)
      expect(stdout).toMatch(/fix +redis-cli -p \d+ config set appendonly yes/)
      expect((await typed('holdfast ls')).stdout).toMatch(/^order:42 +after:1/m)
    },
    LONG_MS,
  )

  it(
    'after a clock jump: doctor sees the stamps of the old time, and evicting ends what would last an hour',
    async () => {
      await using holder = await process_('holder:1')
      await using next = await process_('next:1')
      const lease = await holder.acquire('order:42', { renew: false })
      await jumpBack('holdfast:state:{order:42}')
      const token = (await holder.read('order:42')).token
      expect(token).toBeGreaterThan(lease.token as bigint)
      const { stdout } = await typed('holdfast doctor')
      expect(stdout).toMatch(
        /CLOCK_OFF {2}order:42\n {2}seen .*stamped by a clock that is, or was, 60 min ahead/,
      )
      const evicted = await typed('holdfast evict order:42 --token 459464135346944000 --yes', [], token)
      expect(evicted.code).toBe(0)
      await using granted = await next.acquire('order:42', { wait: '2s' })
      expect(granted.token).toBeGreaterThan(token as bigint)
    },
    LONG_MS,
  )
})

/** Makes a lock what it would be if the server's clock had gone back by an hour since it was granted. */
async function jumpBack(name: string): Promise<void> {
  const { seq, since, expires } = await tool.hgetall(name)
  await tool.hset(name, {
    seq: Number(seq) + HOUR_MS * 1000,
    since: Number(since) + HOUR_MS,
    expires: Number(expires) + HOUR_MS,
  })
}

/** The clients connect again by themselves; until then nothing is sent. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: string }).code !== 'STORE_UNAVAILABLE') throw error
      await sleep(50)
    }
  }
}
