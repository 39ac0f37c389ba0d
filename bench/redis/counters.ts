import { Redis } from 'ioredis'

/** The work of the server since counting began. */
export interface Counted {
  readonly calls: Readonly<Record<string, number>>
  readonly serverMicroseconds: number
}

/** The server's own books, over a connection that no subject uses. */
export class Counters {
  private readonly client: Redis

  constructor(url: string) {
    this.client = new Redis(url)
  }

  async of<T>(measure: () => Promise<T>): Promise<{ readonly answer: T; readonly counted: Counted }> {
    await this.client.config('RESETSTAT')
    const before = await this.serverMicroseconds()
    const answer = await measure()
    const serverMicroseconds = (await this.serverMicroseconds()) - before
    return { answer, counted: { calls: callsOf(await this.client.info('commandstats')), serverMicroseconds } }
  }

  /** Forgets every lock, also the tokens of ours, which live for a day. */
  async clear(): Promise<void> {
    await this.client.flushall()
  }

  async version(): Promise<string> {
    return /redis_version:(\S+)/.exec(await this.client.info('server'))?.[1] ?? 'unknown'
  }

  async close(): Promise<void> {
    await this.client.quit()
  }

  private async serverMicroseconds(): Promise<number> {
    const cpu = await this.client.info('cpu')
    const seconds = [...cpu.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, value]) => Number(value))
    return seconds.reduce((sum, value) => sum + value, 0) * 1e6
  }
}

/** How often each command was called: `cmdstat_evalsha:calls=7,…`. */
function callsOf(commandstats: string): Record<string, number> {
  const lines = [...commandstats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
  return Object.fromEntries(lines.map(([, name, calls]) => [name as string, Number(calls)]))
}
