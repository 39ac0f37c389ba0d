import type { HandMadeGrant } from './lock.ts'
import { holding, PollingLock, told } from './polling.ts'

/** Generation 2: key and expiry in one command. The value says nothing about the holder, so anyone can delete it. */
export class SecondLock extends PollingLock {
  protected async attempt(key: string, ttlMs: number): Promise<HandMadeGrant | null> {
    const reply = await this.redis.call('SET', key, '1', 'NX', 'PX', ttlMs)
    if (reply !== 'OK') return null
    const held = holding(null, async () => told('DEL lock', await this.redis.call('DEL', key)))
    return { held, answer: told(`SET lock 1 NX PX ${ttlMs}`, reply) }
  }
}
