import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type DeadlockStep } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Bundle } from '../../bench/bundle.ts'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import type { CrosswiseOrder, FromCrosswise } from './support/messages.ts'
import { Program } from './support/program.ts'

const CROSSWISE = new URL('./programs/crosswise.ts', import.meta.url)
/** A cycle is told of within this time after it closed. */
const PROMISE_MS = 5_000

let bundle: Bundle
beforeAll(async () => {
  bundle = await Bundle.of(CROSSWISE)
})
afterAll(() => bundle.remove())

interface Server {
  readonly url: string
  stop(): Promise<void> | void
}

const STORES: Record<string, () => Promise<Server>> = {
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-deadlock-'))
    const stop = () => rmSync(folder, { recursive: true, force: true })
    return { url: `sqlite:${join(folder, 'locks.db')}`, stop }
  },
  redis: () => startRedis(),
  postgres: () => startPostgres(),
  etcd: () => startEtcd({ members: 1 }),
}

describe.concurrent.each(Object.entries(STORES))('on %s', (_, start) => {
  let server: Server
  beforeAll(async () => {
    server = await start()
  }, 60_000)
  afterAll(() => server.stop())

  test.concurrent('a then b, b then a: one of the two gives up, and both finish', async () => {
    const cast = new Cast(server.url, 'two:', 'using')
    const ends = await cast.play({ p: [['a', 'b']], q: [['b', 'a']] })
    expect(kindsOf(ends)).toEqual(['done', 'gave up'])
    expect(cast.cycles.map(membersOf)).toEqual([['p: a -> b', 'q: b -> a']])
  }, 30_000)

  test.concurrent('one of the waits is between two tasks of one process: one of the three gives up', async () => {
    const cast = new Cast(server.url, 'three:', 'acquire')
    const p = [
      ['a', 'c'],
      ['c', 'b'],
    ] as const
    const ends = await cast.play({ p, q: [['b', 'a']] })
    expect(kindsOf(ends)).toEqual(['done', 'done', 'gave up'])
    expect(cast.cycles.map(membersOf)).toEqual([['p: a -> c', 'p: c -> b', 'q: b -> a']])
  }, 30_000)
})

/** Processes that lock crosswise at the same moment. */
class Cast {
  readonly cycles: (readonly DeadlockStep[])[] = []
  private readonly url: string
  private readonly prefix: string
  private readonly by: CrosswiseOrder['by']

  constructor(url: string, prefix: string, by: CrosswiseOrder['by']) {
    this.url = url
    this.prefix = prefix
    this.by = by
  }

  async play(roles: Record<string, CrosswiseOrder['pairs']>): Promise<FromCrosswise[]> {
    const { url, prefix, by } = this
    const told: FromCrosswise[] = []
    const programs = Object.entries(roles).map(([label, pairs]) => {
      const order: CrosswiseOrder = { url, prefix, label, pairs, by }
      const program = new Program(bundle.path(CROSSWISE), [JSON.stringify(order)])
      program.child.on('message', (message) => void told.push(message as FromCrosswise))
      return program
    })
    try {
      const wanted = Object.values(roles).flat().length
      const held = () => told.filter(({ kind }) => kind === 'has').length
      await expect.poll(held, { timeout: 15_000, interval: 10 }).toBe(wanted)
      const endsOf = programs.map(({ ended }) => ended)
      for (const { child } of programs) child.send('go')
      expect(await Promise.all(endsOf)).toEqual(programs.map(() => ({ code: 0, signal: null, stderr: '' })))
    } finally {
      // Not when the test is finished: of tests side by side, that would be whichever is first.
      for (const program of programs) program.abandon()
    }
    const ends = told.filter(({ kind }) => kind !== 'has')
    for (const end of ends) if (end.kind === 'gave up') this.cycles.push(end.cycle)
    for (const { waitedMs } of this.cycles.flat()) expect(waitedMs).toBeLessThan(PROMISE_MS)
    await this.nothingIsLeft()
    return ends
  }

  /** Neither a lock nor a deadlock. */
  private async nothingIsLeft(): Promise<void> {
    const locks = await connect(this.url, { prefix: this.prefix })
    try {
      const keys: string[] = []
      for await (const { key } of locks.list()) keys.push(key)
      expect([keys, await locks.deadlocks()]).toEqual([[], []])
    } finally {
      await locks.close()
    }
  }
}

function kindsOf(ends: readonly FromCrosswise[]): string[] {
  return ends.map(({ kind }) => kind).sort()
}

function membersOf(cycle: readonly DeadlockStep[]): string[] {
  return cycle.map(({ label, waitsFor, holds }) => `${label}: ${holds} -> ${waitsFor}`).sort()
}
