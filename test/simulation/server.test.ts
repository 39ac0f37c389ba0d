import { describe, expect, it } from 'vitest'
import type { ClientStore } from '../../lab/simulation/backend.ts'
import { generate } from '../../lab/simulation/generate.ts'
import { Host, HostRuntime } from '../../lab/simulation/host.ts'
import { CALM } from '../../lab/simulation/plan.ts'
import { ProtocolChecker } from '../../lab/simulation/protocol-checker.ts'
import { Random } from '../../lab/simulation/random.ts'
import { Simulation } from '../../lab/simulation/simulation.ts'
import { claimOf } from '../stores/sqlite/claims.ts'

/** A server and one client of it, without faults of the link. */
function world() {
  const simulation = new Simulation({ ...generate(1), linkFaults: CALM }, false)
  const host = new Host(simulation.world, 'c1', 0, 0, new Random(1, 'c1'))
  const store = simulation.backend.open(
    'c1',
    'c1@1',
    host,
    new HostRuntime(host),
    new ProtocolChecker(simulation.fail),
  )
  return {
    ...simulation,
    host,
    store,
    run: (ms: number) => simulation.world.run(simulation.world.nowUs + ms * 1000),
  }
}

const kinds = (answers: readonly { readonly kind: string }[]) => answers.map(({ kind }) => kind)
/** How a call ended by then, or null. */
function watch(call: ReturnType<ClientStore['attempt' | 'renew' | 'release']>) {
  const end: { is: string | readonly string[] | null } = { is: null }
  Promise.resolve<readonly { readonly kind: string }[]>(call).then(
    (answers) => {
      end.is = kinds(answers)
    },
    (error) => {
      end.is = String(error)
    },
  )
  return end
}

describe('a store that is full', () => {
  it('refuses claims, and takes renewals and releases', async () => {
    const { store, backend, run } = world()
    const claim = claimOf('k')
    const first = watch(store.attempt([claim]))
    await run(20)
    expect(first.is).toEqual(['granted'])
    backend.full?.(1_000_000)
    const during = [store.attempt([claimOf('other')]), store.renew([claim]), store.release([claim])].map(
      watch,
    )
    await run(20)
    expect(during.map(({ is }) => is)).toEqual(['Error: out of memory', ['renewed'], ['released']])
    await run(1000)
    const after = watch(store.attempt([claimOf('other')]))
    await run(20)
    expect(after.is).toEqual(['granted'])
  })
})

describe('a member in doubt', () => {
  it.each([
    [true, 'released'],
    [false, 'absent'],
  ])('has no answer, the others have theirs; done: %s', async (done, found) => {
    const { store, backend, run } = world()
    backend.doubt?.('attempt', 1, done)
    const alone = claimOf('alone')
    const claims = ['a', 'b', 'c'].map((key) => claimOf(key))
    const ends = [store.attempt([alone]), store.attempt(claims)].map(watch)
    await run(20)
    expect(ends.map(({ is }) => is)).toEqual([['granted'], ['granted', 'unknown', 'granted']])
    const released = watch(store.release(claims))
    await run(20)
    expect(released.is).toEqual(['released', found, 'released'])
  })

  it('takes its group with it', async () => {
    const { store, backend, run } = world()
    backend.doubt?.('attempt', 0, false)
    const group = ['a', 'b'].map((key) => claimOf(key, { group: 'both' }))
    const end = watch(store.attempt([...group, claimOf('c')]))
    await run(20)
    expect(end.is).toEqual(['unknown', 'unknown', 'granted'])
  })
})

describe('a reset', () => {
  it('ends a call at once with an error, and the call takes effect later', async () => {
    const { store, network, backend, run } = world()
    network.target('c1', 'attempt', 'reset', 500)
    const end = watch(store.attempt([claimOf('k')]))
    await run(20)
    expect(end.is).toBe('Error: connection reset')
    expect(backend.inUse()).toEqual([])
    await run(500)
    expect(backend.inUse()).toHaveLength(1)
  })
})
