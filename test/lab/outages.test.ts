import { setTimeout as sleep } from 'node:timers/promises'
import { createLocks, type Locks } from 'holdfast'
import { describe, it } from 'vitest'
import { CALLS } from '../../lab/outages/calls/index.ts'
import { failuresOf, type Result, tableOf } from '../../lab/outages/report.ts'
import { type RunOptions, run } from '../../lab/outages/run.ts'
import { WORLDS } from '../../lab/outages/stores/index.ts'
import { OPTIONS, type World } from '../../lab/outages/world.ts'

const ALL_CALLS = CALLS.map(({ name }) => name)
/** Other tests run beside this one and delay its timers. */
const BUSY = { lateMs: 3000 }

async function resultOf(
  store: string,
  world: World,
  calls: readonly string[],
  options: Omit<RunOptions, 'calls'> = {},
): Promise<Result> {
  const chosen = CALLS.filter(({ name }) => calls.includes(name))
  const rows = await run(world, { calls: chosen, ...options })
  return { store, rows, notTried: {} }
}

describe.concurrent('every call ends', () => {
  it.for([
    ['redis', ['frozen', 'connections silent'], ALL_CALLS.filter((name) => name !== 'within')],
    ['postgres', ['frozen', 'connections silent'], ALL_CALLS],
    ['sqlite', ['locked by another writer'], ['connect', 'acquire, wait 0', 'release', 'close']],
  ] as const)('on %s when it is %s', { timeout: 60_000 }, async ([store, faults, calls], { expect }) => {
    const world = await (WORLDS[store] as () => Promise<World>)()
    try {
      const chosen = world.faults.filter(({ name }) => (faults as readonly string[]).includes(name))
      const result = await resultOf(store, { ...world, faults: chosen }, calls, BUSY)
      expect(failuresOf(result)).toEqual([])
      expect(result.rows.map(({ fault }) => fault)).toEqual(faults)
      for (const { cells } of result.rows)
        expect(cells.map(({ call }) => call)).toEqual([...calls, 'recovery'])
    } finally {
      await world.stop()
    }
  })
})

describe.concurrent('the check of outages', () => {
  /** Locks without a server, some of whose methods are replaced. */
  function worldWith(broken: (locks: Locks) => Partial<Locks>): World {
    return {
      url: null,
      faults: [{ name: 'none', start: () => {}, heal: () => {} }],
      async open() {
        const locks = createLocks(OPTIONS)
        return Object.assign(locks, broken(locks))
      },
      stop: async () => {},
    }
  }

  it('reports calls that never end, and goes on with the others', async ({ expect }) => {
    const world = worldWith((locks) => {
      const acquire = locks.acquire.bind(locks)
      return { acquire: (key, options) => (options?.wait === 0 ? endless() : acquire(key, options)) }
    })
    const result = await resultOf('fake', world, ['acquire, wait 0', 'read'], { graceMs: 200 })
    expect(failuresOf(result)).toEqual([
      expect.stringContaining('fake, none: acquire, wait 0: NO END'),
      expect.stringContaining('fake, none: recovery: NO END'),
    ])
    expect(tableOf(result)).toEqual([
      ['call', 'none'],
      ['acquire, wait 0', expect.stringMatching(/^NO END/)],
      ['read', expect.stringMatching(/^read/)],
      ['recovery', expect.stringMatching(/^NO END/)],
    ])
  })

  it('reports a call that ends after its bound', async ({ expect }) => {
    const world = worldWith((locks) => {
      const read = locks.read.bind(locks)
      return { read: (key) => sleep(1100).then(() => read(key)) }
    })
    const result = await resultOf('fake', world, ['read'], { lateMs: 50 })
    expect(failuresOf(result)).toEqual([expect.stringMatching(/^fake, none: read: read .* s, LATE$/)])
  })

  it('leaves out calls that the store does not offer', async ({ expect }) => {
    const result = await resultOf(
      'fake',
      worldWith(() => ({})),
      ['semaphore', 'within'],
    )
    expect(tableOf(result).map(([call]) => call)).toEqual(['call', 'semaphore', 'recovery'])
  })

  it('reports an error that has no code', async ({ expect }) => {
    const world = worldWith(() => ({ read: () => Promise.reject(new TypeError('of the client')) }))
    const result = await resultOf('fake', world, ['read'])
    expect(failuresOf(result)).toEqual([expect.stringContaining('of the client')])
  })
})

function endless(): Promise<never> {
  return new Promise(() => {})
}
