import { clockMs } from '../clock.ts'
import { sleep } from '../lock-client.ts'
import { acquire, sound } from './broken-lock.ts'
import type { Control } from './control.ts'
import { QUICK } from './stage.ts'

/** Locks that do not serve those who wait as they should. */
export const WAITING: readonly Control[] = [
  {
    name: 'polling without fairness',
    lacks: 'everybody asks again after a time of chance, and who comes last may be first',
    flaggedBy: 'order',
    async play(stage) {
      const endMs = clockMs() + 1200
      const names = ['a', 'b', 'c', 'd']
      await Promise.all(
        names.map(async (name, place) => {
          const actor = stage.actor(name)
          const onBlocked = () => actor.waits()
          // Served by frequency of asking: the more often a client asks, the sooner.
          const parts = { ...sound(await stage.redis(), stage.key), onBlocked, pollMs: () => 5 + 40 * place }
          while (clockMs() < endMs)
            await actor.visit(
              () => acquire(parts),
              () => sleep(15),
            )
        }),
      )
    },
  },
  {
    name: 'no second look',
    lacks: 'asks, and then listens for the release, which may have been in between',
    flaggedBy: 'wake-up',
    async play(stage) {
      const [client, ear] = [await stage.redis(), await stage.redis()]
      const parts = sound(client, stage.key)
      const holder = stage.actor('a').enter(
        () =>
          acquire({ ...parts, free: (id) => parts.free(id).then(() => client.publish(stage.key, 'free')) }),
        () => sleep(100),
      )
      await holder.inside
      const waiter = stage.actor('b')
      const told = async () => {
        const again = await acquire(parts, 0)
        if (again !== null) return again
        waiter.waits()
        await holder.left
        const heard = new Promise((resolve) => ear.on('message', resolve))
        await ear.subscribe(stage.key)
        await Promise.race([heard, sleep(QUICK.wakeUpMs + 300)])
        return null
      }
      await waiter.visit(told, async () => {})
    },
  },
  {
    name: 'a claim that nobody has',
    lacks: 'keeps renewing a claim whose answer came after its caller had given up',
    flaggedBy: 'recovery',
    async play(stage) {
      const client = await stage.redis()
      const parts = sound(client, stage.key)
      const renewal = setInterval(() => void client.pexpire(stage.key, QUICK.ttlMs), QUICK.ttlMs / 3)
      const givenUp = async () => {
        await acquire(parts)
        return null
      }
      await stage.actor('a').visit(givenUp, async () => {})
      // No fault comes: a check that only looks after faults sees nothing.
      const waitMs = QUICK.ttlMs + QUICK.recoverySlackMs + 200
      await stage.actor('b').visit(
        () => acquire(parts, waitMs),
        async () => {},
        { waitMs },
      )
      clearInterval(renewal)
    },
  },
  {
    name: 'a way that is lost for good',
    lacks:
      'gives up its connection when that breaks, and never takes another, while everybody else is served',
    flaggedBy: 'cut off',
    async play(stage) {
      const endMs = clockMs() + 1200
      const [client, broken] = [await stage.redis(), await stage.redis()]
      broken.disconnect()
      const lost = (error: Error) => Promise.reject(Object.assign(error, { code: 'STORE_UNAVAILABLE' }))
      await Promise.all(
        [client, broken].map(async (redis, place) => {
          const actor = stage.actor('ab'[place] as string)
          const parts = sound(redis, stage.key)
          while (clockMs() < endMs) {
            await actor.visit(
              () => acquire(parts).catch(lost),
              () => sleep(15),
            )
            await sleep(20)
          }
        }),
      )
    },
  },
]
