import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Locks } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { leaveNoGhosts } from './ghosts.ts'
import { Visitors } from './visitors.ts'
import type { World } from './world.ts'

const TTL_MS = 2000
const KEY = 'wanted by all'
/** Two processes want each of them. */
const SHARED = ['left', 'right'] as const
const PROCESSES = 4
/** A lease ends within a few seconds, a leader is elected within two, and a busy machine is slow. */
const RECOVERY_MS = 20_000
const LONG_MS = 60_000

/** Faults of an ensemble while separate processes want its keys. */
export function surviveFaults(start: () => Promise<World>): void {
  let world: World
  let visitors: Visitors

  beforeAll(async () => {
    world = await start()
  }, LONG_MS)

  afterAll(async () => {
    visitors?.kill()
    await world.stop()
  })

  describe('under load', () => {
    beforeAll(async () => {
      const keys = Array.from({ length: PROCESSES }, (_, who) => [KEY, SHARED[who % 2] as string])
      visitors = new Visitors({ url: world.url, ttlMs: TTL_MS, role: 'worker', keys })
      await visitors.allCome(RECOVERY_MS)
    }, LONG_MS)

    it(
      'goes on when the leader is killed, and when it is back',
      async () => {
        const restart = await world.killLeader()
        await visitors.allCome(RECOVERY_MS)
        await restart()
        await visitors.allCome(RECOVERY_MS)
      },
      LONG_MS,
    )

    it(
      'goes on when a follower is cut off from the others, whoever is connected to it',
      async () => {
        const heal = await world.partFollower()
        await visitors.allCome(RECOVERY_MS)
        heal()
        await visitors.allCome(RECOVERY_MS)
      },
      LONG_MS,
    )

    it(
      'goes on when the leader and one of the processes stand still for longer than a ttl',
      async () => {
        const wake = [await world.pauseLeader(), visitors.pause(0)]
        await sleep(TTL_MS * 1.5)
        for (const each of wake) each()
        await visitors.allCome(RECOVERY_MS)
      },
      LONG_MS,
    )

    it(
      'goes on when a process stands still until its claims are over',
      async () => {
        const wake = visitors.pause(1)
        // Nobody but the ensemble can end them: when its neighbours come again they are over, whatever it held.
        await sleep(TTL_MS * 2)
        wake()
        await visitors.allCome(RECOVERY_MS)
      },
      LONG_MS,
    )

    it(
      'goes on when all members are killed and started again',
      async () => {
        await world.restartAll()
        await visitors.allCome(RECOVERY_MS)
      },
      LONG_MS,
    )

    it(
      'has let nobody in beside another all the time, and tokens have risen',
      async () => {
        await visitors.end({ crash: 2 })
        expect(visitors.visits.length).toBeGreaterThan(PROCESSES * 20)
        expect(visitors.contradictions()).toEqual([])
      },
      LONG_MS,
    )

    it(
      'has nothing left of those who went in good order, and of the one who crashed',
      async () => {
        await expect.poll(() => world.leftovers(), { timeout: RECOVERY_MS, interval: 100 }).toBe(0)
      },
      LONG_MS,
    )
  })

  describe('an election', () => {
    it('follows the order in which the candidates came', async () => {
      const candidates = await Promise.all(['a', 'b', 'c'].map((label) => connect(world.url, { label })))
      const elections = candidates.map((locks) => locks.election('order'))
      const told: string[] = []
      const terms: Promise<unknown>[] = []
      for (const [place, election] of elections.entries()) {
        const label = 'abc'[place] as string
        terms.push(
          election.lead(async (_, signal) => {
            told.push(`${label} leads`)
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
            told.push(`${label} stops`)
          }),
        )
        await expect.poll(() => inLine(candidates[0] as Locks), { timeout: 5000 }).toBe(place + 1)
      }
      for (const election of elections) {
        await expect.poll(() => told.at(-1), { timeout: 5000 }).toMatch(/leads/)
        await election.resign()
      }
      await Promise.all(terms)
      expect(told).toEqual(['a leads', 'a stops', 'b leads', 'b stops', 'c leads', 'c stops'])
      await Promise.all(candidates.map((locks) => locks.close()))
    })

    it(
      'has a leader that was paused stop before the next one starts',
      async () => {
        const keys = [['boss'], ['boss'], ['boss']]
        const candidates = new Visitors({ url: world.url, ttlMs: TTL_MS, role: 'candidate', keys })
        try {
          for (let terms = 0; terms < 2; terms++) {
            const wake = candidates.pause(await candidates.nextLeader(terms, RECOVERY_MS))
            await candidates.nextLeader(terms + 1, RECOVERY_MS)
            wake()
          }
          await candidates.end()
        } finally {
          candidates.kill()
        }
        expect(candidates.visits.length, 'every leader has told of its end').toBeGreaterThanOrEqual(3)
        expect(candidates.contradictions()).toEqual([])
      },
      LONG_MS,
    )
  })

  leaveNoGhosts(() => world)

  it(
    'wakes one waiter for each hand-off, by the count of the members',
    async () => {
      const VISITS = 12
      const parties = await Promise.all(Array.from({ length: 8 }, () => connect(world.url)))
      await Promise.all(parties.map((locks, place) => locks.using(`own ${place}`, () => {})))
      const before = await world.watchEvents()
      let visits = 0
      await Promise.all(
        parties.map(async (locks) => {
          for (let visit = 0; visit < VISITS; visit++) await locks.using('herd', () => ++visits)
        }),
      )
      const events = (await world.watchEvents()) - before
      expect(visits).toBe(parties.length * VISITS)
      expect(events).toBeGreaterThan(0)
      // A queue that begins tells the holder that others wait, which is no hand-off: at most once for each party.
      expect(events, 'a hand-off that wakes more than the next one').toBeLessThanOrEqual(
        visits + parties.length,
      )
      await Promise.all(parties.map((locks) => locks.close()))
    },
    LONG_MS,
  )
}

async function inLine(locks: Locks): Promise<number> {
  const { holders, queue } = await locks.read('election:order')
  return holders.length + queue.length
}
