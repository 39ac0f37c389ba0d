import type { Runtime } from '../../../core/runtime.ts'
import type { RedisClient } from '../clients/client.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

export function addressText({ host, port }: Address): string {
  return `${host}:${port}`
}

/** A server that has not answered for this long while something is asked of it may have been replaced. */
const SILENT_MS = 1000

/** One server of a cluster, on a connection of its own. */
export class Node {
  readonly address: Address
  private readonly open: (address: Address) => RedisClient
  private readonly runtime: Runtime
  private opened: RedisClient | null = null
  private unanswered = 0
  private quietSinceMs = 0

  constructor(address: Address, open: (address: Address) => RedisClient, runtime: Runtime) {
    this.address = address
    this.open = open
    this.runtime = runtime
  }

  /** Opened when it is needed: most processes use few keys, and a cluster may have many servers. */
  get client(): RedisClient {
    this.opened ??= this.open(this.address)
    return this.opened
  }

  get idle(): boolean {
    return this.unanswered === 0
  }

  get silent(): boolean {
    return this.unanswered > 0 && this.runtime.nowMs() - this.quietSinceMs > SILENT_MS
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    if (this.unanswered++ === 0) this.quietSinceMs = this.runtime.nowMs()
    const answer = this.client.send(command, args)
    answer.then(this.heard, this.heard)
    return answer
  }

  /** For a slot that this server is about to get. The two travel in this order, with nothing in between. */
  sendAsking(command: string, args: readonly string[]): Promise<unknown> {
    // Should the first fail, so does the second, which is the one that counts.
    this.client.send('ASKING', []).catch(() => {})
    return this.send(command, args)
  }

  async close(): Promise<void> {
    await this.opened?.close()
  }

  private readonly heard = (): void => {
    this.unanswered--
    this.quietSinceMs = this.runtime.nowMs()
  }
}

/** The server that has a slot. `once`: for this command alone, because the slot is moving. */
export interface Redirection {
  readonly once: boolean
  readonly host: string
  readonly port: number
}

/** Parses `MOVED 3999 127.0.0.1:6381` and `ASK 3999 127.0.0.1:6381`, after which nothing was done; null for any other error. */
export function redirectionOf(error: unknown): Redirection | null {
  if (!(error instanceof Error)) return null
  const [kind, , address = ''] = error.message.split(' ')
  if (kind !== 'MOVED' && kind !== 'ASK') return null
  const at = address.lastIndexOf(':')
  return { once: kind === 'ASK', host: address.slice(0, at), port: Number(address.slice(at + 1)) }
}

/** Some keys of the command have moved and others have not. Nothing was done. */
export function isTorn(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('TRYAGAIN')
}

/** The server's own words about a script or a value; everything else may mean that the cluster has changed. */
export function isAboutScript(error: unknown): boolean {
  return (
    error instanceof Error && /^(?:NOSCRIPT|TRYAGAIN|HOLDFAST_|ERR |WRONGTYPE|NOPERM)/.test(error.message)
  )
}
