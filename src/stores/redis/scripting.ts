import type { RedisClient } from './clients/client.ts'
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
  return runCommand(client, script, [script.sha, String(keys.length), ...keys, ...args], meaning)
}

/** The same with the command as it is sent: the hash, the number of keys, the keys, the arguments. */
export function runCommand<A>(
  client: RedisClient,
  { source }: Script,
  command: readonly string[],
  meaning: (answer: unknown) => A,
): Promise<A> {
  // In small letters, because one of the clients would make them small again and again.
  return client.send('evalsha', command).then(meaning, (error) => {
    if (!isNoScript(error)) throw error
    return client.send('eval', [source, ...command.slice(1)]).then(meaning)
  })
}

/** The clients hand the server's words on, one of them in its own spelling. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message)
}
