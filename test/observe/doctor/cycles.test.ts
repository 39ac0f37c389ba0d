import { setTimeout as sleep } from 'node:timers/promises'
import { connect, createLocks, type Diagnosis, type Locks, type LocksOptions } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'

const LONG_MS = 30_000
const REPORT = { onDeadlock: 'report' } as const

type Open = (options: LocksOptions) => Promise<Locks>

/** Each of the two holds a key and waits for the other's, until they are closed. */
async function crosswise(one: Locks, other: Locks): Promise<void> {
  const [first, second] = [await one.acquire('a'), await other.acquire('b')]
  for (const waiting of [one.acquire('b'), other.acquire('a')]) waiting.catch(() => {})
  expect([first.held, second.held]).toEqual([true, true])
}

function deadlocks({ findings }: Diagnosis): string[] {
  return findings.flatMap(({ code, severity, evidence }) =>
    code === 'DEADLOCK' ? [`${severity} ${evidence}`] : [],
  )
}

let server: RedisServer
const worlds: Record<string, () => Open> = {
  memory: () => {
    const world = memoryWorld()
    return async (options) => createLocks({ store: memory({ world }), ...options })
  },
  redis: () => (options) => connect(server.url, options),
}

beforeAll(async () => {
  server = await startRedis({ args: ['--save', ''] })
}, LONG_MS)
afterAll(() => server?.stop())

describe.each(Object.entries(worlds))('on %s', (name, world) => {
  const opened: Locks[] = []
  const prefix = `${name}:`
  let open: (label: string, options?: LocksOptions) => Promise<Locks>

  const cast = async (): Promise<void> => {
    const openIn = world()
    open = async (label, options = {}) => {
      const locks = await openIn({ label, prefix, wait: Number.POSITIVE_INFINITY, ...options })
      locks.on('warning', () => {})
      opened.push(locks)
      return locks
    }
  }
  const end = async (): Promise<void> => {
    await Promise.all(opened.splice(0).map((locks) => locks.close()))
  }

  it(
    'the doctor tells of a deadlock that its programs publish, and of nothing else about those keys',
    async () => {
      await cast()
      const [web, worker] = [await open('web1:4711', REPORT), await open('worker:17', REPORT)]
      const told = new Promise<void>((resolve) => void web.on('deadlock', () => resolve()))
      await web.using('a', async () => {
        let hold = () => {}
        const held = new Promise<void>((resolve) => {
          hold = resolve
        })
        worker
          .using('b', async () => {
            hold()
            await worker.using('a', () => {})
          })
          .catch(() => {})
        await held
        const waiting = web.using('b', () => {}).catch(() => {})
        await told
        await sleep(4000)
        const operator = await open('ops:1', { prefix: '' })
        const diagnosis = await operator.doctor({ prefix, watch: '500ms' })
        expect(diagnosis.severity).toBe('critical')
        const [found, ...more] = diagnosis.findings.filter(({ key }) => key !== null)
        expect(more).toEqual([])
        expect(found).toMatchObject({ code: 'DEADLOCK', severity: 'critical' })
        expect(found?.evidence).toMatch(
          /web1:4711 \(#1\) holds "\w+:a" and has waited for "\w+:b" for [\d.]+ s/,
        )
        expect(found?.evidence).toMatch(
          /worker:17 \(#1\) holds "\w+:b" and has waited for "\w+:a" for [\d.]+ s/,
        )
        expect(found?.fix).toMatch(new RegExp(`^holdfast evict ${found?.key} `))
        expect(diagnosis.unseen.map(({ what }) => what).join()).not.toContain('deadlocks')
        expect(deadlocks(await operator.doctor({ prefix: 'elsewhere:', watch: 0 }))).toEqual([])
        await worker.close()
        await waiting
      })
      await end()
    },
    LONG_MS,
  )

  it(
    'it says "perhaps" of processes that publish nothing, and how many it could not judge',
    async () => {
      await cast()
      const [web, worker] = [await open('web1:4711'), await open('worker:17')]
      const operator = await open('ops:1')
      await crosswise(web, worker)
      await sleep(1200)
      const diagnosis = await operator.doctor({ watch: '100ms', stuck: '1s' })
      // A likely cycle hides no other finding.
      const stuck = diagnosis.findings.filter(({ code }) => code === 'LINE_STUCK')
      expect(stuck.map(({ key, severity }) => `${severity} ${key}`).sort()).toEqual([
        `critical ${prefix}a`,
        `critical ${prefix}b`,
      ])
      const [found, ...more] = deadlocks(diagnosis)
      expect(more).toEqual([])
      expect(found).toMatch(
        /^warning perhaps: .*not proven, because not all of them publish what they wait for$/,
      )
      expect(found).toMatch(/web1:4711 holds "\w+:a" and has waited for "\w+:b"/)
      expect(found).toMatch(/worker:17 holds "\w+:b" and has waited for "\w+:a"/)
      expect(diagnosis.unseen).toContainEqual({
        what: 'deadlocks among 2 holders and 2 waiters',
        why: 'their programs set neither `onDeadlock` nor `actor`',
      })
      expect(await operator.deadlocks()).toEqual([])
      await end()
    },
    LONG_MS,
  )

  it(
    'a process whose tasks wait for each other, or for a process that works, is no deadlock',
    async () => {
      await cast()
      const [web, worker] = [await open('web1:4711'), await open('worker:17')]
      const operator = await open('ops:1')
      await web.acquire('a')
      await worker.acquire('b')
      for (const waiting of [web.acquire('a'), web.acquire('b')]) waiting.catch(() => {})
      await sleep(1200)
      const diagnosis = await operator.doctor({ watch: '100ms' })
      expect(deadlocks(diagnosis)).toEqual([])
      const [unseen] = diagnosis.unseen.filter(({ what }) => what.startsWith('deadlocks'))
      expect(unseen?.what).toMatch(/^deadlocks among 2 holders and [12] waiters?$/)
      await end()
    },
    LONG_MS,
  )
})

it('a store without records cannot publish, so that only named actors tell', async () => {
  const store = memory()
  const bare = { ...store, records: null, traits: { ...store.traits, records: false } }
  await using locks = createLocks({ store: bare, ...REPORT })
  await using _anonymous = await locks.acquire('a')
  await using _named = await locks.acquire('b', { actor: 'order 7' })
  const { unseen } = await locks.doctor({ watch: 0 })
  expect(unseen).toContainEqual({
    what: 'deadlocks among 1 holder and 0 waiters',
    why: 'the memory store has no records to publish them in, so only the option `actor` tells',
  })
})
