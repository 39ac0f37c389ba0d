import { connect, type Locks, LockTimeoutError } from '../../../src/index.ts'
import type { HandMadeGrant, Lock } from './lock.ts'
import { told } from './polling.ts'

/** The lock of this package: a lease that ends by its own clock, and a token that the resource can check. */
export class FencedLock implements Lock {
  private readonly locks: Locks

  private constructor(locks: Locks) {
    this.locks = locks
  }

  static async open(url: string, label: string): Promise<FencedLock> {
    return new FencedLock(await connect(url, { label }))
  }

  async acquire(key: string, ttlMs: number, waitMs: number): Promise<HandMadeGrant | null> {
    try {
      const lease = await this.locks.acquire(key, { ttl: ttlMs, wait: waitMs })
      const held = {
        id: lease.id,
        token: lease.token,
        validForMs: () => (lease.held ? lease.remainingMs() : 0),
        release: async () => told('release', await lease.release()),
      }
      return { held, answer: told('acquire', `token …${String(lease.token).slice(-6)}`) }
    } catch (error) {
      if (error instanceof LockTimeoutError) return null
      throw error
    }
  }

  close(): Promise<void> {
    return this.locks.close()
  }
}
