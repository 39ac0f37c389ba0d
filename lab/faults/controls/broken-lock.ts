import { randomUUID } from 'node:crypto'
import { clockMs } from '../clock.ts'
import { type Held, sleep } from '../lock-client.ts'
import { QUICK } from './stage.ts'

/** The parts of a lock over one server, any of which may be the broken one. */
export interface Parts {
  /** Tries once; the token, or null when the key is taken. */
  take(id: string): Promise<bigint | null>
  free(id: string): Promise<unknown>
  /** Until when the lease counts as valid, by when it was asked for and answered. */
  validUntilMs?(sentMs: number, answeredMs: number): number
  readonly pollMs?: () => number
  readonly onBlocked?: () => void
}

const COMPARE_AND_DELETE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

/** Takes the key, trying again until the time is over. */
export async function acquire(parts: Parts, waitMs = 2000): Promise<Held | null> {
  const id = randomUUID()
  const giveUpAtMs = clockMs() + waitMs
  for (;;) {
    const sentMs = clockMs()
    const token = await parts.take(id)
    const answeredMs = clockMs()
    if (token !== null) return held(token, parts, id, sentMs, answeredMs)
    parts.onBlocked?.()
    if (clockMs() > giveUpAtMs) return null
    await sleep(parts.pollMs?.() ?? 10)
  }
}

function held(token: bigint, parts: Parts, id: string, sentMs: number, answeredMs: number): Held {
  const untilMs = parts.validUntilMs?.(sentMs, answeredMs) ?? sentMs + QUICK.ttlMs
  return {
    token,
    get held() {
      return clockMs() < untilMs
    },
    remainingMs: () => Math.max(0, untilMs - clockMs()),
    async release() {
      await parts.free(id)
      return 'released'
    },
  }
}

interface Client {
  set(key: string, value: string, px: 'PX', ms: number, nx: 'NX'): Promise<unknown>
  incr(key: string): Promise<number>
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>
}

/** A lock with nothing wrong: what the broken ones are made of. */
export function sound(client: Client, key: string): Parts {
  return {
    async take(id) {
      const taken = await client.set(key, id, 'PX', QUICK.ttlMs, 'NX')
      return taken === null ? null : BigInt(await client.incr(`tokens of ${key}`))
    },
    free: (id) => client.eval(COMPARE_AND_DELETE, 1, key, id),
  }
}
