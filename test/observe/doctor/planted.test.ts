import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createLocks,
  type Diagnosis,
  type Finding,
  type FindingCode,
  type LocksOptions,
  type Records,
  type Remains,
  StaleTokenError,
} from '../../../src/index.ts'
import { newHabit, publish } from '../../../src/observe/doctor/habits.ts'
import { memoryGuard } from '../../../src/recipes/guard/index.ts'
import {
  etcdWard,
  goneLabel,
  HOUR_AHEAD,
  mysqlWard,
  postgresWard,
  redisWard,
  sqliteWard,
  type Ward,
} from './wards.ts'

const WARDS = {
  redis: redisWard,
  postgres: postgresWard,
  mysql: mysqlWard,
  sqlite: sqliteWard,
  etcd: etcdWard,
}
const LONG_MS = 60_000

describe.each(Object.entries(WARDS))('on %s', (name, open) => {
  let input: Ward
  const opened: { close(): Promise<void> }[] = []

  const locks = (options: LocksOptions = {}) => {
    const made = createLocks({ store: input.store(options.runtime), ...options })
    // Warnings of the server are among the findings.
    made.on('warning', () => {})
    opened.push(made)
    return made
  }

  beforeAll(async () => {
    input = await open()
  }, LONG_MS)

  afterAll(async () => {
    await Promise.all(opened.map((each) => each.close()))
    await input?.stop()
  })

  it(
    'finds nothing on a system that is busy and well, and knows its habits afterwards',
    async () => {
      const busy = [locks({ habits: true, label: 'web:1' }), locks({ habits: true, label: 'web:2' })]
      const end = new AbortController()
      const workers = busy.flatMap((each) =>
        Array.from({ length: 6 }, async (_, at) => {
          while (!end.signal.aborted) await each.using(`job:${at % 3}`, { wait: '30s' }, () => sleep(2))
        }),
      )
      const foreign = input.foreign === null ? [] : [input.foreign]
      const diagnosis = await locks().doctor({ foreign })
      end.abort()
      await Promise.all(workers)
      expect(diagnosis.findings).toEqual([])
      expect(diagnosis).toMatchObject({ severity: null })
      expect(diagnosis.keys).toBeGreaterThan(0)
      // On its way out each adds what it knows.
      await Promise.all(busy.map((each) => each.close()))
      expect((await locks().doctor({ watch: 0 })).unseen.map(({ what }) => what)).not.toContain(
        'what is usual',
      )
    },
    LONG_MS,
  )

  it(
    'puts out a live holder at once; the next has a higher token, and the old one’s writes are refused from then on',
    async ({ skip }) => {
      const holder = locks({ label: 'old:1' })
      if (holder.traits.wakeUp === 'poll') return skip('the store cannot tell a holder before it renews')
      const waiter = locks({ label: 'new:1' })
      const operator = locks({ label: 'ops:1' })
      const guard = memoryGuard()
      // Long enough that only a push can tell within the time of this test.
      const lease = await holder.acquire('account', { ttl: '90s' })
      guard.check('account', lease.token)
      const causes: string[] = []
      holder.on('lost', ({ cause }) => causes.push(cause))
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve))
      const next = waiter.acquire('account', { wait: '30s' })
      while ((await operator.read('account')).queue.length === 0) await sleep(5)
      expect(await operator.evict('account', { token: lease.token as bigint, by: 'ada' })).toEqual(['old:1'])
      await lost
      expect(causes).toEqual(['evicted'])
      await using granted = await next
      expect(granted.token).toBeGreaterThan(lease.token as bigint)
      guard.check('account', granted.token)
      expect(() => guard.check('account', lease.token)).toThrow(StaleTokenError)
      const [entry] = await operator.evictions('account')
      expect(entry).toMatchObject({
        by: 'ada',
        asked: false,
        holders: [{ label: 'old:1', token: `${lease.token}` }],
      })
      expect(Math.abs(Date.now() - Date.parse(entry?.at ?? ''))).toBeLessThan(60_000)
    },
    LONG_MS,
  )

  it(
    'finds each planted sickness',
    async () => {
      const planted = locks({ maxTtl: '48h' })
      const stuckWaiter = locks({ label: 'billing:1' })
      const gone = locks({ label: goneLabel() })
      const dead = locks({ label: goneLabel() })
      const skewed = locks({ runtime: HOUR_AHEAD, label: 'tomorrow:1' })
      for (const each of input.plants) await each.plant()
      // As processes with such holds would have published it, however slow this machine is.
      const quick = { ...newHabit(), work: { 14: 100 }, closed: { 14: 100 }, ttlMs: 10_000, atMs: Date.now() }
      await publish(planted.records as Records, { 'parcel:*': quick })
      const tooShort = hastyWork(locks({ habits: true }))
      await planted.acquire('report:1', { ttl: '30h', renew: false })
      await planted.acquire('parcel:77', { ttl: '10s' })
      await planted.acquire('busy', { ttl: '10s' })
      await gone.acquire('left', { ttl: '20s' })
      if (name === 'sqlite' || name === 'etcd') await skewed.acquire('early', { ttl: '10s' })
      await orphan(input)
      const waits = [stuckWaiter.acquire('busy', { wait: '40s' })]
      while ((await planted.read('busy')).queue.length < 1) await sleep(5)
      waits.push(dead.acquire('busy', { wait: '40s' }))
      for (const each of waits) each.catch(() => {})
      while ((await planted.read('busy')).queue.length < 2) await sleep(5)
      await tooShort

      const options = {
        foreign: input.foreign === null ? [] : [input.foreign],
        stuck: '500ms',
        watch: '1100ms',
        deadFor: '100ms',
      }
      // The clock of a server is compared with the one of the machine that the doctor sits at.
      const doctor = name === 'sqlite' || name === 'etcd' ? locks() : skewed
      const diagnosis = await doctor.doctor(options)
      expect(diagnosis.severity).toBe('critical')
      for (const { code, shows } of input.plants)
        expect(evidence(diagnosis, code, null), code).toContainEqual(expect.stringMatching(shows))
      const found = (code: FindingCode, key: string | null, shows: RegExp) =>
        expect(evidence(diagnosis, code, key), `${code} ${key}`).toContainEqual(expect.stringMatching(shows))
      found('TTL_TOO_LONG', 'report:1', /has 30 h left; the longest ttl allowed is 24 h/)
      found('HELD_TOO_LONG', 'parcel:77', /99 of 100 holds of parcel:\* end within 128 ms \(100 seen\)/)
      found('LINE_STUCK', 'busy', /^billing:1, first of 2, has waited for .* nothing moved/)
      found('DEAD_WAITER', 'busy', /no process \d+ on this host/)
      found('HOLDER_GONE', 'left', /no process \d+ on this host/)
      found('TTL_TOO_SHORT', 'hasty:*', /ran out before the work was done/)
      if (input.immune.ORPHAN === undefined)
        expect(evidence(diagnosis, 'ORPHAN', null)).toContainEqual(expect.stringMatching(/all dead, for/))
      const clockKey = name === 'sqlite' ? 'early' : null
      found('CLOCK_OFF', clockKey, /60 min (ahead of|behind) the one of this machine/)
      for (const { code, fix, meaning } of diagnosis.findings) {
        expect(meaning, code).not.toBe('')
        expect(fix, code).not.toBe('')
      }
      for (const code of Object.keys(input.immune)) expect(codes(diagnosis)).not.toContain(code)
    },
    LONG_MS,
  )

  it('a foreign lock that is used while the reaper looks is kept', async ({ skip }) => {
    const { foreign, use } = input
    if (foreign === null || use === undefined) return skip(input.immune.FOREIGN_NO_TTL ?? '')
    const store = input.store()
    const { inspect, reap } = store.admin
    const seen: Remains[] = []
    for await (const fact of inspect!.call(store.admin, { foreign: [foreign], deadForMs: 0, values: true }))
      if (fact.kind === 'foreign') seen.push(fact)
    expect(seen).toHaveLength(1)
    await use()
    expect(await reap!.call(store.admin, seen, 0)).toEqual([false])
    await store.close()
    const young = await all(locks().reap({ foreign: [foreign], older: '1h', remove: true }))
    expect(young.filter(({ kind, outcome }) => kind === 'foreign' && outcome === 'removed')).toEqual([])
  })

  it(
    'the reaper shows what is dead, removes it when told to, and leaves what lives',
    async () => {
      const operator = locks()
      const looked = { deadFor: '100ms', ...(input.foreign === null ? {} : { foreign: [input.foreign] }) }
      const options = { ...looked, ...(input.foreign === null ? {} : { older: 0 }) }
      const before = await keysIn(operator)
      const shown = await all(operator.reap(options))
      expect(shown.length).toBeGreaterThan(0)
      expect(new Set(shown.map(({ outcome }) => outcome))).toEqual(new Set(['found']))
      expect(await all(operator.reap(options))).toHaveLength(shown.length)
      const removed = await all(operator.reap({ ...options, remove: true }))
      expect(new Set(removed.map(({ outcome }) => outcome))).toEqual(new Set(['removed']))
      expect(await all(operator.reap(options))).toEqual([])
      const after = await keysIn(operator)
      expect(after).toEqual(before.filter((key) => key !== 'stray'))
      const { findings } = await operator.doctor({ ...looked, watch: 0 })
      const left = findings.map(({ code }) => code)
      for (const code of ['ORPHAN', 'ORPHAN_BLOCKS', 'FOREIGN_NO_TTL']) expect(left).not.toContain(code)
    },
    LONG_MS,
  )
})

/** Work that is not renewed and takes longer than its ttl, often enough to be a habit. */
async function hastyWork(locks: ReturnType<typeof createLocks>): Promise<void> {
  const leases = await Promise.all(
    Array.from({ length: 25 }, (_, at) => locks.acquire(`hasty:${at}`, { ttl: '1s', renew: false })),
  )
  await Promise.all(
    leases.map((lease) => new Promise((lost) => lease.signal.addEventListener('abort', lost))),
  )
  await locks.close()
}

/** A claim whose process is never heard of again. */
async function orphan(input: Ward): Promise<void> {
  const store = input.store()
  const claim = {
    ...{
      key: 'forgotten',
      id: 'a-claim-of-nobody',
      mode: { kind: 'exclusive' } as const,
      ttlMs: 50,
      queue: false,
    },
    ...{
      owner: null,
      actor: null,
      label: 'elsewhere:1',
      meta: null,
      lockDelayMs: 0,
      group: null,
      replaces: null,
    },
  }
  await store.attempt([claim])
  await store.close()
}

async function keysIn(locks: ReturnType<typeof createLocks>): Promise<string[]> {
  return (await all(locks.list())).map(({ key }) => key).sort()
}

async function all<T>(things: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const thing of things) found.push(thing)
  return found
}

function evidence({ findings }: Diagnosis, code: FindingCode, key: string | null): string[] {
  const those = findings.filter((each: Finding) => each.code === code && each.key === key)
  return those.map((each) => each.evidence)
}

function codes({ findings }: Diagnosis): string[] {
  return findings.map(({ code }) => code)
}
