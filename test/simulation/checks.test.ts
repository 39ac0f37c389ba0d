import { describe, expect, it } from 'vitest'
import { Calls } from '../../lab/simulation/calls.ts'
import { Host } from '../../lab/simulation/host.ts'
import { Ledger } from '../../lab/simulation/ledger.ts'
import type { Ask } from '../../lab/simulation/plan.ts'
import { ProtocolChecker } from '../../lab/simulation/protocol-checker.ts'
import { Random } from '../../lab/simulation/random.ts'
import { Register } from '../../lab/simulation/register.ts'
import type { Invariant } from '../../lab/simulation/violation.ts'
import { type Sighting, Witness } from '../../lab/simulation/witness.ts'
import { World } from '../../lab/simulation/world.ts'
import { type Claim, EMPTY, type KeyState } from '../../src/model/index.ts'

/** A world in which histories are written by hand, to see that each check can fail. */
function bench() {
  const world = new World(false)
  const broken: Invariant[] = []
  const fail = (invariant: Invariant) => void broken.push(invariant)
  const witness = new Witness(world, fail)
  const host = (name: string) => new Host(world, name, 0, 0, new Random(1, name))
  const has = (client: Host, token: bigint, ask: Ask, more: Partial<Sighting> & { held?: boolean } = {}) => {
    const controller = new AbortController()
    const lease = { id: `${client.name} ${token}`, token, held: more.held ?? true, signal: controller.signal }
    const sighting = witness.began({
      key: 'k',
      client: client.name,
      host: client,
      lease,
      ask,
      party: more.party ?? lease.id,
      listens: more.listens ?? true,
      askedUs: more.askedUs ?? world.nowUs,
    })
    return { sighting, lease, abort: () => controller.abort(), end: () => witness.ended(sighting, 'done') }
  }
  return {
    world,
    broken,
    fail,
    witness,
    has,
    a: host('a'),
    b: host('b'),
    register: new Register(world, fail),
  }
}

const mutex: Ask = { kind: 'mutex' }
const read: Ask = { kind: 'read' }
const write: Ask = { kind: 'write' }
const permits = (weight: number): Ask => ({ kind: 'permits', limit: 3, weight })

describe('the witness on overlaps', () => {
  it('accepts one holder after the other', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, mutex).end()
    has(b, 2n, mutex).end()
    expect(broken).toEqual([])
  })

  it('sees two valid leases at once', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, mutex)
    has(b, 2n, mutex)
    expect(broken).toEqual(['overlap'])
  })

  it('sees a reader beside a writer, and lets readers be', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, read)
    has(b, 2n, read)
    expect(broken).toEqual([])
    has(b, 3n, write)
    expect(broken).toContain('overlap')
  })

  it('counts permits by weight', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, permits(2))
    has(b, 2n, permits(1))
    expect(broken).toEqual([])
    has(b, 3n, permits(1))
    expect(broken).toEqual(['overlap'])
  })

  it('lets a dead, an evicted or an expired holder be succeeded', () => {
    const { has, a, b, broken, witness } = bench()
    const evicted = has(a, 1n, mutex)
    witness.depose(evicted.lease.id)
    has(b, 2n, mutex).end()
    const expired = has(a, 3n, mutex)
    expired.lease.held = false
    expired.abort()
    has(b, 4n, mutex).end()
    has(a, 5n, mutex)
    a.kill()
    has(b, 6n, mutex)
    expect(broken).toEqual([])
  })

  it('lets the same owner hold the key more than once', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, mutex, { party: 'owner' })
    has(b, 1n, mutex, { party: 'owner' })
    expect(broken).toEqual([])
  })

  it('sees a lease that expired without its signal, unless its process stands still', () => {
    const { has, a, b, broken } = bench()
    a.pause(10)
    has(a, 1n, mutex).lease.held = false
    const second = has(b, 2n, mutex)
    expect(broken).toEqual([])
    second.lease.held = false
    has(a, 3n, mutex)
    expect(broken).toEqual(['signal late'])
  })

  it('sees a lease that comes back after another one was valid', () => {
    const { has, a, b, broken } = bench()
    const first = has(a, 1n, mutex, { listens: false })
    first.lease.held = false
    has(b, 2n, mutex).end()
    first.lease.held = true
    first.end()
    expect(broken).toEqual(['revived'])
  })
})

describe('the witness on tokens', () => {
  it('sees a token that two holders got', () => {
    const { has, a, b, broken } = bench()
    has(a, 1n, mutex).end()
    has(b, 1n, mutex).end()
    expect(broken).toEqual(['token repeats'])
  })

  it('sees a token that falls from one holder to the next', () => {
    const { has, a, b, broken } = bench()
    has(a, 2n, mutex).end()
    has(b, 1n, mutex).end()
    expect(broken).toEqual(['token falls'])
  })

  it('lets readers begin out of order, but above every writer', async () => {
    const { has, a, b, broken } = bench()
    has(a, 256n, mutex).end()
    has(b, 1024n, read).end()
    has(a, 512n, read).end()
    expect(broken).toEqual([])
    has(b, 2048n, mutex).end()
    has(a, 768n, read).end()
    expect(broken).toEqual(['token falls'])
  })

  it('sees a token of a grant that falls for a reader that came after another had ended', async () => {
    const { has, a, broken, world } = bench()
    has(a, 514n, read).end()
    has(a, 512n, read, { askedUs: -1 }).end()
    expect(broken).toEqual([])
    await world.run(20)
    has(a, 513n, read).end()
    expect(broken).toEqual(['token falls'])
  })

  it('sees a lease without a token', () => {
    const { has, a, broken } = bench()
    has(a, null as unknown as bigint, mutex)
    expect(broken).toEqual(['token missing'])
  })
})

describe('the register', () => {
  it('refuses lower tokens', () => {
    const { has, a, b, broken, register } = bench()
    const first = has(a, 1n, mutex)
    first.end()
    const second = has(b, 2n, mutex)
    register.write(second.sighting)
    register.write(first.sighting)
    expect([register.accepted, register.refused]).toEqual([1, 1])
    expect(broken).toEqual([])
  })

  it('sees an earlier holder write after a later one', () => {
    const { a, b, broken, register, has } = bench()
    const first = has(a, 7n, mutex)
    first.end()
    const second = has(b, 8n, mutex)
    register.write(second.sighting)
    register.write({ ...first.sighting, lease: { ...first.lease, token: 9n } })
    expect(broken).toEqual(['register went back'])
  })
})

describe('calls', () => {
  it('must settle in time, and in the end', async () => {
    const { world, broken, fail, a, b } = bench()
    const calls = new Calls(world, fail)
    calls.begin(a, 'quick', 100)()
    const late = calls.begin(a, 'late', 100)
    const paused = calls.begin(b, 'paused', 100)
    b.pause(400_000)
    await world.run(500_000)
    paused()
    expect(broken).toEqual([])
    late()
    expect(broken).toEqual(['settled late'])
    calls.begin(b, 'of the dead', 100)
    calls.begin(a, 'never', 100)
    b.kill()
    calls.checkAll()
    expect(broken).toEqual(['settled late', 'not served'])
  })
})

describe('the calls of a client to its store', () => {
  const claim = { key: 'k', id: 'x' } as Claim

  it('may not renew what it released', () => {
    const { broken, fail } = bench()
    const checker = new ProtocolChecker(fail)
    checker.sent('renew', [claim])
    checker.sent('release', [claim])
    checker.sent('release', [claim])
    expect(broken).toEqual([])
    checker.sent('renew', [claim])
    expect(broken).toEqual(['sent after release'])
  })

  it('must clean up an attempt whose outcome it does not know', () => {
    for (const how of ['answered', 'released', 'told', 'nothing'] as const) {
      const { broken, fail } = bench()
      const checker = new ProtocolChecker(fail)
      checker.sent('attempt', [claim])
      if (how === 'answered') checker.answered([claim])
      if (how === 'released') checker.sent('release', [claim])
      if (how === 'told') checker.told({ kind: 'lost', cause: 'evicted', id: 'x', key: 'k' })
      checker.closed()
      expect(broken).toEqual(how === 'nothing' ? ['unknown attempt left'] : [])
    }
  })
})

describe('the ledger of the server', () => {
  const member = {
    id: 'x',
    expiresAtMs: 9,
    sinceMs: 0,
    label: '',
    actor: null,
    meta: null,
    lockDelayMs: 0,
    inbox: null,
  }
  const held: KeyState = {
    ...EMPTY,
    holds: [{ owner: null, mode: { kind: 'exclusive' }, seq: 1, members: [member] }],
  }

  it('sees a renewal that makes a hold', () => {
    const { broken, fail } = bench()
    new Ledger(fail).changed('k', 'attempt', EMPTY, held)
    new Ledger(fail).changed('k', 'renew', held, held)
    expect(broken).toEqual([])
    new Ledger(fail).changed('k', 'renew', EMPTY, held)
    expect(broken).toEqual(['renewal created'])
  })

  it('sees a claim that is counted twice', () => {
    const { broken, fail } = bench()
    new Ledger(fail).changed('k', 'attempt', held, { ...held, holds: [...held.holds, ...held.holds] })
    expect(broken).toEqual(['claim counted twice'])
  })
})
