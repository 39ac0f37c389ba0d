import { type Store, StoreError } from 'holdfast'
import { memory, memoryWorld } from 'holdfast/memory'
import {
  type ConformanceTarget,
  conformanceCases,
  FakeRuntime,
  runConformance,
  type Skip,
} from 'holdfast/testing'
import { describe, expect, test } from 'vitest'

function target(changes: Partial<ConformanceTarget> = {}): ConformanceTarget & { runtime: FakeRuntime } {
  const runtime = new FakeRuntime()
  const world = memoryWorld(runtime)
  return { name: 'memory', open: () => memory({ world }), ...changes, runtime }
}

describe('skips', () => {
  const sound: Skip = {
    topic: 'fencing',
    case: 'tokens rise over an expiry',
    reason: 'the store has no clock',
  }

  test('a skipped case says why and is not run', async () => {
    const cases = conformanceCases(
      target({ skips: [sound], open: () => Promise.reject(new Error('not to be opened')) }),
    )
    const skipped = cases.find(({ name }) => name === sound.case)
    const reasons: string[] = []
    await skipped?.run({ skip: (reason) => reasons.push(reason) })
    expect(reasons).toEqual(['the store has no clock'])
  })

  test('a topic can be skipped as a whole', async () => {
    const skips = [{ topic: 'records', reason: 'the table is read-only' }] as const
    const { runtime, ...rest } = target({ skips })
    const report = await runtime.until(runConformance({ ...rest, runtime }, { concurrency: 1000 }))
    const records = report.skipped.filter(({ topic }) => topic === 'records')
    expect(new Set(records.map(({ reason }) => reason))).toEqual(new Set(['the table is read-only']))
    expect([...report.passed, ...report.failed].filter(({ topic }) => topic === 'records')).toEqual([])
  })

  test.each([
    ['carries no reason', { ...sound, reason: ' ' }],
    ['carries no reason', { topic: 'fencing' } as Skip],
    ['names no case', { ...sound, case: 'tokens rise over the moon' }],
    ['names no case', { topic: 'astrology' as Skip['topic'], reason: 'no such thing' }],
  ])('a skip that %s is refused', (problem, skip) => {
    expect(() => conformanceCases(target({ skips: [skip] }))).toThrow(problem)
  })

  test('a case that the traits deny is skipped with that reason', async () => {
    const { runtime, open, ...rest } = target()
    const poor = async () => {
      const store = await open()
      return { ...store, records: null, traits: { ...store.traits, records: false, wakeUp: 'poll' as const } }
    }
    const report = await runtime.until(
      runConformance({ ...rest, open: poor, runtime }, { concurrency: 1000 }),
    )
    const reasons = new Map(report.skipped.map(({ name, reason }) => [name, reason]))
    expect(reasons.get('absent writes once')).toBe('the store keeps no records')
    expect(reasons.get('a waiter is told of its grant without asking')).toContain('look again by themselves')
    expect(report.passed.map(({ name }) => name)).toContain('a store without records has none')
  })
})

describe('the report', () => {
  test('a store that hangs fails its cases and does not hang the run', async () => {
    const { runtime, open, ...rest } = target()
    const frozen = async () => ({ ...(await open()), release: () => new Promise<never>(() => {}) })
    const report = await runtime.until(
      runConformance({ ...rest, open: frozen, runtime }, { concurrency: 1000 }),
    )
    const failure = report.failed.find(({ name }) => name === 'the key is free once it was released')
    expect(failure?.error.message).toContain('the case hangs')
  })

  test('a failure says what the store did', async () => {
    const { runtime, open, ...rest } = target()
    const generous = async () => {
      const store = await open()
      return { ...store, release: async () => [{ kind: 'released' as const }] }
    }
    const report = await runtime.until(
      runConformance({ ...rest, open: generous, runtime }, { concurrency: 1000 }),
    )
    const failure = report.failed.find(
      ({ name }) => name === 'a release with a strange id does not touch the hold',
    )
    expect(failure?.error.message).toContain('only the id proves ownership')
  })

  test.each([
    ['once', 'passed', 1],
    ['ever', 'failed', Number.POSITIVE_INFINITY],
  ] as const)('a store that does not know whether it renewed, %s, has %s', async (_, verdict, times) => {
    const { runtime, open, ...rest } = target()
    const unsure = async () => {
      const store = await open()
      let left: number = times
      const renew: Store['renew'] = async (claims) => {
        if (left-- > 0) return claims.map(() => ({ kind: 'unknown', error: new StoreError('no answer') }))
        return store.renew(claims)
      }
      return { ...store, renew }
    }
    const report = await runtime.until(
      runConformance({ ...rest, open: unsure, runtime }, { concurrency: 1000 }),
    )
    const name = 'the claims of one hold expire one by one'
    expect(report[verdict].map((result) => result.name)).toContain(name)
  })

  test('a failure about time proves nothing when the process stood still, and is shown as such', async () => {
    const { runtime, open, ...rest } = target()
    const stalling = async () => {
      const store = await open()
      const renew: Store['renew'] = (claims) => {
        runtime.stall(20_000)
        return store.renew(claims)
      }
      return { ...store, renew }
    }
    const cases = conformanceCases({ ...rest, open: stalling, runtime })
    const timed = cases.find(({ name }) => name === 'a lease outlives its ttl while it is renewed')
    const reasons: string[] = []
    await runtime.until(timed?.run({ skip: (reason) => reasons.push(reason) }) ?? Promise.resolve())
    expect(reasons).toHaveLength(1)
    expect(reasons[0]).toMatch(/^inconclusive, because this process stood still for 20000 ms: .*must be held/)
  })

  test('a case that proved nothing is played again, also one whose connection failed meanwhile', async () => {
    const { runtime, open, ...rest } = target()
    let failures = 0
    const shaky = async () => {
      const store = await open()
      const attempt: Store['attempt'] = async (claims) => {
        if (failures++ > 1) return store.attempt(claims)
        runtime.stall(2500)
        throw new StoreError('the connection was lost')
      }
      return { ...store, attempt }
    }
    const cases = conformanceCases({ ...rest, open: shaky, runtime })
    const plain = cases.find(({ name }) => name === 'a held key is not granted to another process')
    const reasons: string[] = []
    const context = { skip: (reason: string) => reasons.push(reason) }
    await runtime.until(plain?.run(context) ?? Promise.resolve())
    expect(failures).toBeGreaterThan(2)
    expect(reasons).toEqual([])
    failures = Number.NEGATIVE_INFINITY
    await runtime.until(plain?.run(context) ?? Promise.resolve())
    expect(reasons).toEqual([expect.stringMatching(/^inconclusive.*the connection was lost/)])
  })

  test('two holders are a failure, however slow the machine', async () => {
    const { runtime, open, ...rest } = target()
    const generous = async () => {
      const store = await open()
      const attempt: Store['attempt'] = async (claims) => {
        runtime.stall(400)
        return claims.map(() => ({ kind: 'granted', token: 1n, spare: 0, contended: false }))
      }
      return { ...store, attempt }
    }
    const report = await runtime.until(runConformance({ ...rest, open: generous, runtime }))
    const messages = new Map(report.failed.map(({ name, error }) => [name, error.message]))
    expect(messages.get('a held key is not granted to another process')).toContain(
      'must not be granted again',
    )
    expect(messages.get('a counter under contention of three processes loses no update')).toContain(
      'held at once',
    )
    expect(messages.get('tokens rise over an expiry')).toContain('token 1 after 1')
  })

  test('names are unique, so that a skip and a report mean one case', () => {
    const names = conformanceCases(target()).map(({ topic, name }) => `${topic}: ${name}`)
    expect(new Set(names).size).toBe(names.length)
  })
})
