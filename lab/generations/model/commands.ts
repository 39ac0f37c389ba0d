import { COMPARE_AND_DELETE, COMPARE_AND_EXPIRE } from '../locks/scripts.ts'
import { ADD_ONE } from '../optimism/methods.ts'
import { RedisError, type Reply } from '../wire/protocol.ts'
import type { Keys } from './keys.ts'

/** How many words a command has at least and at most, its name among them, and what it does. */
interface ModelCommand {
  readonly least: number
  readonly most: number
  run(keys: Keys, words: readonly string[]): Reply
}

/** A model of Redis has no Lua: it knows the scripts of the lab by their text. */
const SCRIPTS = new Map<string, (keys: Keys, key: string, ...args: string[]) => Reply>([
  [COMPARE_AND_DELETE, (keys, key, id) => (keys.get(key) === id ? keys.delete(key) : 0)],
  [COMPARE_AND_EXPIRE, (keys, key, id, ttl) => (keys.get(key) === id ? keys.expire(key, Number(ttl)) : 0)],
  [ADD_ONE, (keys, key) => (keys.add(key, 1) instanceof RedisError ? new RedisError('ERR no number') : 'OK')],
])

const COMMANDS: Readonly<Record<string, ModelCommand>> = {
  PING: { least: 1, most: 1, run: () => 'PONG' },
  INFO: { least: 1, most: 2, run: () => '' },
  GET: { least: 2, most: 2, run: (keys, [, key]) => keys.get(key!) },
  DEL: { least: 2, most: 2, run: (keys, [, key]) => keys.delete(key!) },
  PTTL: { least: 2, most: 2, run: (keys, [, key]) => keys.lifeOf(key!) },
  TTL: {
    least: 2,
    most: 2,
    run: (keys, [, key]) =>
      keys.lifeOf(key!) < 0 ? keys.lifeOf(key!) : Math.round(keys.lifeOf(key!) / 1_000),
  },
  PEXPIRE: { least: 3, most: 3, run: (keys, [, key, ttl]) => keys.expire(key!, Number(ttl)) },
  SETNX: {
    least: 3,
    most: 3,
    run: (keys, [, key, value]) => (keys.set(key!, value!, ['NX']) === 'OK' ? 1 : 0),
  },
  SET: { least: 3, most: 9, run: (keys, [, key, value, ...options]) => keys.set(key!, value!, options) },
  INCR: { least: 2, most: 2, run: (keys, [, key]) => keys.add(key!, 1) },
  INCRBY: { least: 3, most: 3, run: (keys, [, key, amount]) => keys.add(key!, Number(amount)) },
  DECRBY: { least: 3, most: 3, run: (keys, [, key, amount]) => keys.add(key!, -Number(amount)) },
  EVAL: {
    least: 4,
    most: 9,
    run: (keys, [, script, , key, ...args]) =>
      SCRIPTS.get(script!)?.(keys, key!, ...args) ??
      new RedisError('ERR the model does not know this script'),
  },
}

/** Why the command cannot be queued or run, or null. */
export function faultOf(words: readonly string[]): RedisError | null {
  const name = words[0]!
  const command = COMMANDS[name.toUpperCase()]
  if (command === undefined) return new RedisError(`ERR unknown command '${name}'`)
  const fits = words.length >= command.least && words.length <= command.most
  return fits ? null : new RedisError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`)
}

export function runCommand(keys: Keys, words: readonly string[]): Reply {
  return faultOf(words) ?? COMMANDS[words[0]!.toUpperCase()]!.run(keys, words)
}
