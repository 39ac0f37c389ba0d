import { randomUUID } from 'node:crypto'
import type { CommandReply, HandMadeGrant } from './lock.ts'
import { holding, PollingLock, told } from './polling.ts'
import { COMPARE_AND_DELETE } from './scripts.ts'

/** Generation 3: the value names the holder, and only its holder deletes a key, in one step of the server. */
export class ThirdLock extends PollingLock {
  protected async attempt(key: string, ttlMs: number): Promise<HandMadeGrant | null> {
    const id = randomUUID()
    const reply = await this.redis.call('SET', key, id, 'NX', 'PX', ttlMs)
    if (reply !== 'OK') return null
    const held = holding(id, () => this.release(key, id))
    return { held, answer: told(`SET lock ${id.slice(0, 4)}… NX PX ${ttlMs}`, reply) }
  }

  protected async release(key: string, id: string): Promise<CommandReply> {
    return told('EVAL compare-and-delete', await this.redis.call('EVAL', COMPARE_AND_DELETE, 1, key, id))
  }
}

/** Generation 3 as it is often written: it looks first and deletes then, and the key can change hands in between. */
export class LookThenDeleteLock extends ThirdLock {
  protected override async release(key: string, id: string): Promise<CommandReply> {
    const value = await this.redis.call('GET', key)
    if (value !== id) return told('GET lock', 'not mine')
    await this.seam()
    return told('DEL lock', await this.redis.call('DEL', key))
  }
}
