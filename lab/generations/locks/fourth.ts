import type { HandMadeGrant, Held } from './lock.ts'
import { COMPARE_AND_EXPIRE } from './scripts.ts'
import { ThirdLock } from './third.ts'

/** Generation 4: a timer in the holder's process puts the expiry off, for as long as that process runs. */
export class FourthLock extends ThirdLock {
  protected override async attempt(key: string, ttlMs: number): Promise<HandMadeGrant | null> {
    const grant = await super.attempt(key, ttlMs)
    if (grant === null) return null
    const { held, answer } = grant
    const watchdog = setInterval(() => this.renew(key, held.id!, ttlMs, watchdog), ttlMs / 3)
    return { held: this.watched(held, watchdog), answer }
  }

  private watched(held: Held, watchdog: NodeJS.Timeout): Held {
    const release = (): ReturnType<Held['release']> => {
      clearInterval(watchdog)
      return held.release()
    }
    return { ...held, release }
  }

  private renew(key: string, id: string, ttlMs: number, watchdog: NodeJS.Timeout): void {
    const stop = (): void => clearInterval(watchdog)
    this.redis
      .call('EVAL', COMPARE_AND_EXPIRE, 1, key, id, ttlMs)
      .then((reply) => reply === 0 && stop(), stop)
  }
}
