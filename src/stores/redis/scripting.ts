import { StoreError } from '../../errors.ts'
import type { Kept, RedisClient } from './clients/client.ts'
import { SCRIPTS } from './scripts.generated.ts'

export type ScriptName = keyof typeof SCRIPTS

/** Calls the scripts by their hash, and hands one over when the server does not know it: nothing ran in that case. */
export class Scripting {
  readonly client: RedisClient

  constructor(client: RedisClient) {
    this.client = client
  }

  run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.call(name, keys, args, (answer) => answer)
  }

  /** The same, with what the answer means: one promise less for every lock. */
  call<A>(
    name: ScriptName,
    keys: readonly string[],
    args: readonly string[],
    meaning: (answer: unknown) => A,
  ): Promise<A> {
    return runScript(this.client, SCRIPTS[name], keys, args, meaning)
  }

  /** With one key and one argument. */
  callOne<A>(name: ScriptName, key: string, arg: string, meaning: (answer: unknown) => A): Promise<A> {
    const script = SCRIPTS[name]
    return runCommand(this.client, script, [script.sha, '1', key, arg], meaning)
  }

  /** A call that is made more than once. */
  keep(name: ScriptName, keys: readonly string[], args: readonly string[]): Kept {
    return { args: commandOf(SCRIPTS[name], keys, args), form: null }
  }

  callKept<A>(name: ScriptName, kept: Kept, meaning: (answer: unknown) => A): Promise<A> {
    const { client } = this
    const script = SCRIPTS[name]
    if (client.sendKept === undefined) return runCommand(client, script, kept.args, meaning)
    return answered(client.sendKept('evalsha', kept), client, script, kept.args, meaning)
  }
}

export interface Script {
  readonly sha: string
  readonly source: string
}

export function runScript<A>(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly string[],
  meaning: (answer: unknown) => A,
): Promise<A> {
  return runCommand(client, script, commandOf(script, keys, args), meaning)
}

function commandOf({ sha }: Script, keys: readonly string[], args: readonly string[]): readonly string[] {
  return [sha, String(keys.length), ...keys, ...args]
}

/**
 * The same with the command as it is sent: the hash, the number of keys, the keys, the arguments. What becomes of an error is
 * said beside the meaning, too, and not in a promise behind this one: each costs a step for every lock.
 */
export function runCommand<A>(
  client: RedisClient,
  script: Script,
  command: readonly string[],
  meaning: (answer: unknown) => A,
  failed: (error: Error) => A = thrown,
): Promise<A> {
  // In small letters, because one of the clients would make them small again and again.
  return answered(client.send('evalsha', command), client, script, command, meaning, failed)
}

function answered<A>(
  answer: Promise<unknown>,
  client: RedisClient,
  { source }: Script,
  command: readonly string[],
  meaning: (answer: unknown) => A,
  failed: (error: Error) => A = thrown,
): Promise<A> {
  return answer.then(meaning, (error: Error) => {
    if (!isNoScript(error)) return failed(explained(error))
    const again = client.send('eval', [source, ...command.slice(1)])
    return again.then(meaning, (second: Error) => failed(explained(second)))
  })
}

function thrown(error: Error): never {
  throw error
}

/** The memory of the server is full. Nothing was done. */
class FullError extends StoreError {}

export function isFull(error: Error): boolean {
  return error instanceof FullError
}

function explained(error: Error): Error {
  if (!/^(?:OOM|OutOfMemory)\b/i.test(error.message)) return error
  return new FullError(
    'the memory of the Redis server is full (maxmemory is reached): it takes no new claims and records, while renewals and releases go on; raise maxmemory, or remove what fills it',
    { cause: error },
  )
}

/** The clients hand the server's words on, one of them in its own spelling. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message)
}
