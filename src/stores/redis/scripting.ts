import { StoreError } from '../../errors.ts'
import type { RedisClient } from './clients/client.ts'
import { SCRIPTS } from './scripts.generated.ts'

export type ScriptName = keyof typeof SCRIPTS

/** The scripts of the store over one client. */
export class Scripting {
  readonly client: RedisClient

  constructor(client: RedisClient) {
    this.client = client
  }

  run<A = unknown>(
    name: ScriptName,
    keys: readonly string[],
    args: readonly string[],
    parse: (answer: unknown) => A | Promise<A> = (answer) => answer as A,
  ): Promise<A> {
    return runScript(this.client, SCRIPTS[name], keys, args, parse)
  }
}

export interface Script {
  readonly sha: string
  readonly source: string
}

/**
 * Calls a script by its hash, and sends it whole if the server does not know it: nothing ran in that case. `parse` and `failed` run in
 * the same `then`, because each promise costs a step for every lock.
 */
export function runScript<A>(
  client: RedisClient,
  { sha, source }: Script,
  keys: readonly string[],
  args: readonly string[],
  parse: (answer: unknown) => A | Promise<A>,
  failed: (error: Error) => A = thrown,
): Promise<A> {
  const rest = [String(keys.length), ...keys, ...args]
  // Already in lower case: one of the clients would convert it on every call.
  return client.send('evalsha', [sha, ...rest]).then(parse, (error: Error) => {
    if (!isNoScript(error)) return failed(explained(error))
    const again = client.send('eval', [source, ...rest])
    return again.then(parse, (second: Error) => failed(explained(second)))
  })
}

function thrown(error: Error): never {
  throw error
}

/** The server refused the script because its memory is full; nothing was done. */
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

/** The clients pass on the words of the server, one of them in its own spelling. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message)
}
