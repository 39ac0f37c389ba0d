import type { HandMadeGrant } from './lock.ts'
import { holding, PollingLock, told } from './polling.ts'

/** Generation 1: whoever creates the key has it. Nothing ends a hold but its holder. */
export class FirstLock extends PollingLock {
  protected async attempt(key: string): Promise<HandMadeGrant | null> {
    const reply = await this.redis.call('SETNX', key, '1')
    if (reply !== 1) return null
    const held = holding(null, async () => told('DEL lock', await this.redis.call('DEL', key)))
    return { held, answer: told('SETNX lock 1', reply) }
  }
}

/** Generation 1 with an afterthought: the expiry comes by a second command, which a crash can leave unsent. */
export class TwoStepLock extends PollingLock {
  protected async attempt(key: string, ttlMs: number): Promise<HandMadeGrant | null> {
    const reply = await this.redis.call('SETNX', key, '1')
    if (reply !== 1) return null
    await this.seam()
    await this.redis.call('PEXPIRE', key, ttlMs)
    const held = holding(null, async () => told('DEL lock', await this.redis.call('DEL', key)))
    return { held, answer: told('SETNX lock 1', reply) }
  }
}
