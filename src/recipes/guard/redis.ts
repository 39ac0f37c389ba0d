import { InvalidArgumentError } from '../../errors.ts'
import { stale, tokenOf } from './memory.ts'

/** A client of ioredis, or of node-redis. */
export type RedisLike =
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }

export interface RedisGuard {
  /** Sets a value, only with a token that is not below the highest one that wrote it. Throws `StaleTokenError`. */
  set(key: string, value: string, token: bigint | null, options?: { ttlMs?: number }): Promise<void>
  /** Looks and remembers without writing a value, for what lives elsewhere. */
  check(key: string, token: bigint | null): Promise<void>
}

/** Tokens have 19 digits at most, so texts of one length compare as numbers do, and nothing is rounded. */
const SCRIPT = `
local seen = redis.call('GET', KEYS[2])
if seen and seen > ARGV[1] then return seen end
redis.call('SET', KEYS[2], ARGV[1])
if ARGV[2] == 'set' then
  if ARGV[4] == '' then redis.call('SET', KEYS[1], ARGV[3]) else redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end
end
return false`

/** The resource side of the fence for values in Redis: compare and write in one script. */
export function redisGuard(client: RedisLike): RedisGuard {
  const admit = async (key: string, token: bigint | null, ...rest: readonly string[]): Promise<void> => {
    const wanted = tokenOf(token)
    const args = [SCRIPT, '2', key, fenceOf(key), String(wanted).padStart(19, '0'), ...rest]
    const seen = await sendTo(client, args)
    if (seen !== null) throw stale(key, wanted, String(seen).replace(/^0+(?=\d)/, ''))
  }
  return {
    set: (key, value, token, { ttlMs } = {}) =>
      admit(key, token, 'set', value, ttlMs === undefined ? '' : String(ttlMs)),
    check: (key, token) => admit(key, token, 'check', '', ''),
  }
}

/** In the same slot as the key, whatever hash tag that has. */
function fenceOf(key: string): string {
  return /\{[^}]+\}/.test(key) ? `holdfast:fence:${key}` : `holdfast:fence:{${key}}`
}

function sendTo(client: RedisLike, args: string[]): Promise<unknown> {
  if ('call' in client) return client.call('EVAL', ...args)
  if ('sendCommand' in client) return client.sendCommand(['EVAL', ...args])
  throw new InvalidArgumentError('client', 'must be a client of ioredis or node-redis')
}
