import type { Locks } from 'holdfast'
import { expect, test } from 'vitest'
import { outcomeOf, Town } from './support.ts'

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']
const PROCESSES = 3
const WORKERS = 4
const MINUTES = 4

/** Work of up to three seconds in every order-keeping way: waits are long, holds are nested, and nobody is ever stuck. */
test('a healthy busy system is never suspected: ordered all(), nested locks in one order, readers and permits', async () => {
  const town = new Town()
  // Values read one after another were never true together.
  town.lookMs = 300
  const { runtime } = town
  const parties = Array.from({ length: PROCESSES }, (_, place) => town.locks(`p${place}`, 'abort'))
  let rounds = 0
  let failed: unknown = null
  let goOn = true
  const pick = () => Math.floor(runtime.random() * KEYS.length)
  const work = () =>
    new Promise<void>((resolve) => void runtime.setTimer(resolve, runtime.random() * 3000, false))
  const step = async (locks: Locks): Promise<void> => {
    const [one, two] = [pick(), pick()].sort() as [number, number]
    const [first, second] = [KEYS[one] as string, KEYS[two] as string]
    const kind = Math.floor(runtime.random() * 5)
    if (kind === 0) {
      const group = await locks.all([...new Set([second, first])])
      await work()
      await group.release()
    } else if (kind === 1 && one !== two) {
      await locks.using(first, async () => {
        await work()
        await locks.rw(second).read.using(work)
      })
    } else if (kind === 2) {
      const held = await locks.acquire(first)
      await locks.semaphore('permits', { limit: 3 }).using({ weight: 1 + (one % 2) }, work)
      await held.release()
    } else if (kind === 3 && one !== two) {
      // Any order is safe for those who do it one at a time, but what is seen late looks crosswise.
      const [outer, inner] = runtime.random() < 0.5 ? [first, second] : [second, first]
      await locks.using('0', () => locks.using(`x${outer}`, () => locks.using(`x${inner}`, work)))
    } else if (kind === 4) {
      await locks.using(`x${first}`, work)
    } else {
      await locks.using(first, work)
    }
    rounds++
  }
  const worker = async (locks: Locks): Promise<void> => {
    while (goOn) await step(locks)
  }
  const workers = parties.flatMap((locks) =>
    Array.from({ length: WORKERS }, () => worker(locks).catch((error: unknown) => (failed = error))),
  )
  for (let minute = 0; minute < MINUTES; minute++) {
    await town.pass(60_000)
    const looker = parties[0] as Locks
    expect(await runtime.until(looker.deadlocks())).toEqual([])
    const { findings } = await runtime.until(looker.doctor({ watch: 0 }))
    expect(findings.filter(({ code }) => code === 'DEADLOCK')).toEqual([])
  }
  goOn = false
  const all = outcomeOf(Promise.all(workers))
  await town.pass(120_000)
  expect(all.settled).toBe(true)
  expect(failed).toBeNull()
  expect(town.told).toEqual([])
  expect(rounds).toBeGreaterThan(200)
}, 60_000)
