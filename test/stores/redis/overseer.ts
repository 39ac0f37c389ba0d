import type { Redis } from 'ioredis'

/** Looks at the server's list of connections. */
export class Overseer {
  private readonly operator: Redis

  constructor(operator: Redis) {
    this.operator = operator
  }

  async connections(name: string): Promise<number> {
    return (await this.clients(name)).length
  }

  /** The connections of that name whose last command was one of a transaction that is still open. */
  async watchers(name: string): Promise<string[]> {
    const lines = (await this.clients(name)).filter((line) => /cmd=(watch|get) /.test(line))
    return lines.map((line) => /^id=(\d+) /.exec(line)?.[1] as string)
  }

  async calls(command: string): Promise<number> {
    const text = await this.operator.info('commandstats')
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0)
  }

  private async clients(name: string): Promise<string[]> {
    const list = String(await this.operator.call('CLIENT', ['LIST']))
    return list.split('\n').filter((line) => line.includes(` name=${name} `))
  }
}
