import { setTimeout as sleep } from 'node:timers/promises'
import { LockError } from 'holdfast'
import { RECOVERY_MS } from '../settings.ts'
import type { Call } from './call.ts'

/** Counts from the moment at which the store could serve again. */
export const RECOVERY: Call = {
  name: 'recovery',
  boundMs: RECOVERY_MS,
  bound: 'ttl + callTimeout + 3 s',
  async prepare({ locks, key, over }) {
    await locks.acquire(`${key}:kept`)
    return async () => {
      while (!over.aborted) {
        try {
          await locks.acquire(key, { wait: 0 })
          return 'granted'
        } catch (error) {
          if (!(error instanceof LockError)) throw error
        }
        await sleep(20)
      }
      return 'refused'
    }
  },
}
