import { describe, expect, it } from 'vitest'
import { SkewedClock } from '../../lab/simulation/clock.ts'
import { Heap, type Scheduled } from '../../lab/simulation/heap.ts'
import { Host, HostRuntime } from '../../lab/simulation/host.ts'
import { Network } from '../../lab/simulation/network.ts'
import { CALM } from '../../lab/simulation/plan.ts'
import { Random } from '../../lab/simulation/random.ts'
import { World } from '../../lab/simulation/world.ts'

const draws = (random: Random) => Array.from({ length: 50 }, () => random.next())

describe('chance', () => {
  it('is the same for the same seed and label, and different for another of either', () => {
    expect(draws(new Random(7, 'a'))).toEqual(draws(new Random(7, 'a')))
    expect(draws(new Random(7, 'a'))).not.toEqual(draws(new Random(8, 'a')))
    expect(draws(new Random(7, 'a'))).not.toEqual(draws(new Random(7, 'b')))
  })

  it('spreads whole numbers over the range, both ends included', () => {
    const random = new Random(1, 'range')
    const counts = new Map<number, number>()
    for (let index = 0; index < 6000; index++) {
      const value = random.whole(3, 8)
      counts.set(value, (counts.get(value) ?? 0) + 1)
    }
    expect([...counts.keys()].sort()).toEqual([3, 4, 5, 6, 7, 8])
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150)
  })

  it('picks names by their weight', () => {
    const random = new Random(2, 'weights')
    const picked = Array.from({ length: 4000 }, () => random.weighted({ often: 3, seldom: 1, never: 0 }))
    const often = picked.filter((name) => name === 'often').length
    expect(Math.abs(often - 3000)).toBeLessThan(150)
    expect(picked).not.toContain('never')
  })
})

describe('the heap', () => {
  it('gives events back by time, then by the order in which they were scheduled', () => {
    const random = new Random(3, 'heap')
    const heap = new Heap()
    const events: Scheduled[] = Array.from({ length: 500 }, (_, sequence) => {
      return { atUs: random.whole(0, 60), sequence, task: () => {}, quiet: true, cancelled: false }
    })
    for (const event of events) heap.push(event)
    const popped = events.map(() => heap.pop())
    const sorted = events.toSorted((a, b) => a.atUs - b.atUs || a.sequence - b.sequence)
    expect(popped).toEqual(sorted)
    expect(heap.pop()).toBeUndefined()
  })
})

describe('the world', () => {
  it('runs all promise jobs of an event before the next event', async () => {
    const world = new World(false)
    const seen: string[] = []
    const chain = async () => {
      for (let depth = 0; depth < 20; depth++) await null
      seen.push('jobs')
    }
    world.schedule(5, () => void chain(), false)
    world.schedule(5, () => seen.push('next'), false)
    await world.run(10)
    expect(seen).toEqual(['jobs', 'next'])
    expect(world.nowUs).toBe(10)
  })

  it('never fires a timer of a skewed clock before its time', async () => {
    for (const skewPpm of [-4000, -1, 0, 3999]) {
      const world = new World(false)
      const clock = new SkewedClock(world, skewPpm, 123_457)
      const host = new Host(world, 'h', skewPpm, 123_457, new Random(1, 'h'))
      const runtime = new HostRuntime(host)
      const late: number[] = []
      for (const delayMs of [0, 1, 7.5, 333, 12_345]) {
        const dueMs = runtime.nowMs() + delayMs
        runtime.setTimer(() => late.push(runtime.nowMs() - dueMs), delayMs)
      }
      await world.run(20_000_000)
      expect(late).toHaveLength(5)
      for (const byMs of late) expect(byMs).toBeGreaterThanOrEqual(0)
      for (const byMs of late) expect(byMs).toBeLessThanOrEqual(1)
      expect(clock.nowMs()).toBe(
        Math.floor((123_457 + Math.floor((20_000_000 * (1e6 + skewPpm)) / 1e6)) / 1000),
      )
      expect(runtime.pending.size).toBe(0)
    }
  })

  it('holds back what comes during a pause, in its order, and never runs a dead process', async () => {
    const world = new World(false)
    const host = new Host(world, 'h', 0, 0, new Random(1, 'h'))
    const seen: string[] = []
    host.after(10, () => seen.push(`first at ${host.clock.nowMs()}`))
    host.after(20, () => seen.push(`second at ${host.clock.nowMs()}`))
    host.after(90, () => seen.push('after death'))
    world.schedule(5_000, () => host.pause(50_000), true)
    world.schedule(60_000, () => host.kill(), true)
    await world.run(100_000)
    expect(seen).toEqual(['first at 50', 'second at 50'])
  })

  it('a timer that is cleared during a pause does not fire after it', async () => {
    const world = new World(false)
    const host = new Host(world, 'h', 0, 0, new Random(1, 'h'))
    const runtime = new HostRuntime(host)
    const seen: string[] = []
    host.pause(50_000)
    const second = runtime.setTimer(() => seen.push('second'), 20)
    host.after(10, () => {
      seen.push('first')
      second.clear()
    })
    await world.run(100_000)
    expect(seen).toEqual(['first'])
  })
})

describe('the network', () => {
  const arrivals = async (prepare: (network: Network) => void): Promise<number[]> => {
    const world = new World(false)
    const network = new Network(world, 1, CALM)
    prepare(network)
    const times: number[] = []
    network.send('c1', 'up', 'attempt', () => times.push(world.nowUs), true)
    await world.run(10_000_000)
    return times
  }

  it('delivers in a few milliseconds when nothing is wrong', async () => {
    const [atUs] = await arrivals(() => {})
    expect(atUs).toBeGreaterThanOrEqual(300)
    expect(atUs).toBeLessThanOrEqual(6_000)
  })

  it('cuts, clogs, loses, holds back and doubles', async () => {
    expect(await arrivals((network) => network.cut('c1', 'both', 1))).toHaveLength(0)
    expect(await arrivals((network) => network.cut('c1', 'down', 1))).toHaveLength(1)
    expect((await arrivals((network) => network.clog('c1', 'up', 2_000_000)))[0]).toBeGreaterThan(2_000_000)
    expect(await arrivals((network) => network.target('c1', 'attempt', 'lose', 0))).toHaveLength(0)
    expect(await arrivals((network) => network.target('c2', 'attempt', 'lose', 0))).toHaveLength(1)
    expect((await arrivals((network) => network.target('c1', 'attempt', 'hold', 700)))[0]).toBeGreaterThan(
      700_000,
    )
    expect(await arrivals((network) => network.target('c1', 'attempt', 'again', 900))).toHaveLength(2)
  })
})
