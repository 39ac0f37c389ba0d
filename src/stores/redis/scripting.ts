import type { RedisClient } from './clients/client.ts'
import { SCRIPTS } from './scripts.generated.ts'

export type ScriptName = keyof typeof SCRIPTS

/** Calls the scripts by their hash, and hands one over when the server does not know it: nothing ran in that case. */
export class Scripting {
  readonly client: RedisClient

  constructor(client: RedisClient) {
    this.client = client
  }

  async run(name: ScriptName, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const { sha, source } = SCRIPTS[name]
    const count = String(keys.length)
    try {
      return await this.client.send('EVALSHA', [sha, count, ...keys, ...args])
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.client.send('EVAL', [source, count, ...keys, ...args])
    }
  }
}

/** The clients hand the server's words on, one of them in its own spelling. */
function isNoScript(error: unknown): boolean {
  return error instanceof Error && /NOSCRIPT|NoScriptError/.test(error.message)
}
