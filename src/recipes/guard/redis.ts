import { checkOptions, checkText, checkWholeNumber, hasMethods } from '../../core/check.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { SLOTS, slotOf } from '../../stores/redis/cluster/slots.ts'
import { checkedToken, stale } from './memory.ts'

/** A client of ioredis or of node-redis, or a cluster client of theirs. */
export type RedisLike =
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }
  | NodeRedisCluster

interface NodeRedisCluster {
  readonly nodeClient: (...args: never[]) => unknown
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
}

export interface RedisGuard {
  /** Sets a value, only with a token that is not below the highest one that wrote it. Throws `StaleTokenError`. */
  set(key: string, value: string, token: bigint | null, options?: { ttlMs?: number }): Promise<void>
  /** Checks and remembers the token without writing a value, for resources outside of Redis. */
  check(key: string, token: bigint | null): Promise<void>
}

const SET_OPTIONS = { ttlMs: true } as const

/** Tokens have 19 digits at most, so texts of equal length compare like numbers, without rounding. */
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
  if (!hasMethods(client, ['call']) && !hasMethods(client, ['sendCommand'])) throw strange()
  const prefix = clusterPrefixOf(client)
  const admit = async (key: string, token: bigint | null, ...rest: readonly string[]): Promise<void> => {
    const wanted = checkedToken(token)
    checkText('key', key)
    const args = [SCRIPT, '2', key, fenceOf(key, prefix), String(wanted).padStart(19, '0'), ...rest]
    const seen = await sendTo(client, key, args)
    if (seen !== null) throw stale(key, wanted, String(seen).replace(/^0+(?=\d)/, ''))
  }
  return {
    set: async (key, value, token, options = {}) => {
      const { ttlMs } = checkOptions('options', options, SET_OPTIONS)
      const px =
        ttlMs === undefined ? '' : String(checkWholeNumber('ttlMs', ttlMs, 1, Number.MAX_SAFE_INTEGER))
      return admit(key, token, 'set', checkText('value', value), px)
    },
    check: (key, token) => admit(key, token, 'check', '', ''),
  }
}

/** The hash tag, as Cluster reads it: between the first brace and the next closing one, if that is not empty. */
const TAGGED = /^[^{]*\{[^}]+\}/

const NOTHING_BUT_TAG = /^\{[^}]+\}$/

/** The name of a key's fence, in the same slot as the key, whatever braces the key has. */
function fenceOf(key: string, prefix: string): string {
  // Otherwise `{a}` would have the fence of `a`.
  if (NOTHING_BUT_TAG.test(key)) return `holdfast:fence-in:${key}`
  const name = TAGGED.test(key) ? `holdfast:fence:${key}` : `holdfast:fence:{${key}}`
  const slot = slotOf(prefix + key)
  return slotOf(prefix + name) === slot ? name : `holdfast:fence-in:{${tagIn(slot)}}:${key}`
}

let tags: readonly string[] | null = null

/** The smallest number in a slot. A key that cannot be a tag, such as `x}y`, has its fence beside that number. */
function tagIn(slot: number): string {
  tags ??= tagsOfSlots()
  return tags[slot] as string
}

function tagsOfSlots(): string[] {
  const found: string[] = new Array(SLOTS).fill('')
  for (let number = 0, missing = SLOTS; missing > 0; number++) {
    const slot = slotOf(String(number))
    if (found[slot] !== '') continue
    found[slot] = String(number)
    missing--
  }
  return found
}

/** The prefix of an ioredis cluster counts for slots, too; a single server has no slots. */
function clusterPrefixOf(client: object): string {
  const { isCluster, options } = client as { isCluster?: boolean; options?: { keyPrefix?: string } }
  return isCluster === true ? (options?.keyPrefix ?? '') : ''
}

function sendTo(client: RedisLike, key: string, args: string[]): Promise<unknown> {
  if ('call' in client) return client.call('EVAL', ...args)
  if ('nodeClient' in client) return client.sendCommand(key, false, ['EVAL', ...args])
  if ('sendCommand' in client) return client.sendCommand(['EVAL', ...args])
  throw strange()
}

function strange(): InvalidArgumentError {
  return new InvalidArgumentError('client', 'must be a client of ioredis or node-redis')
}
