import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandReply, HandMadeGrant, Held, Lock, Redis, Seam } from './lock.ts'

const LOOK_AGAIN_MS = 10

/** Common to the four hand-made generations: a client without the key asks again until it has it. */
export abstract class PollingLock implements Lock {
  protected readonly redis: Redis
  protected readonly seam: Seam

  constructor(redis: Redis, seam: Seam) {
    this.redis = redis
    this.seam = seam
  }

  async acquire(key: string, ttlMs: number, waitMs: number): Promise<HandMadeGrant | null> {
    const giveUpAtMs = performance.now() + waitMs
    for (;;) {
      const grant = await this.attempt(key, ttlMs)
      if (grant !== null) return grant
      if (performance.now() >= giveUpAtMs) return null
      await sleep(LOOK_AGAIN_MS)
    }
  }

  async close(): Promise<void> {}

  protected abstract attempt(key: string, ttlMs: number): Promise<HandMadeGrant | null>
}

/** A holder that knows nothing but what it was told when it took the key. */
export function holding(id: string | null, release: () => Promise<CommandReply>): Held {
  return { id, token: null, validForMs: () => null, release }
}

export function told(command: string, reply: unknown): CommandReply {
  return { command, reply: reply === null ? '(nil)' : String(reply) }
}
