import { startProxy, type TcpProxy } from '../../scripts/servers/proxy.ts'
import type { Addresses } from './order.ts'

/** Every worker reaches every server through a proxy of its own. */
export class Wires {
  /** By the worker's place and the server's. */
  private readonly proxies: readonly (readonly TcpProxy[])[]

  private readonly ports: readonly number[]

  private constructor(proxies: readonly (readonly TcpProxy[])[], ports: readonly number[]) {
    this.proxies = proxies
    this.ports = ports
  }

  static async start(workers: number, ports: readonly number[]): Promise<Wires> {
    const proxies: TcpProxy[][] = []
    for (let place = 0; place < workers; place++)
      proxies.push(await Promise.all(ports.map((port) => startProxy(port))))
    return new Wires(proxies, ports)
  }

  get servers(): number {
    return this.proxies[0]?.length ?? 0
  }

  portsOf(place: number): number[] {
    return (this.proxies[place] ?? []).map(({ port }) => port)
  }

  /** The address a server announces, and the one where that worker finds it. */
  addressesOf(place: number): Addresses {
    const found = this.portsOf(place).map((port, server) => {
      return [`127.0.0.1:${this.ports[server]}`, { host: '127.0.0.1', port }] as const
    })
    return Object.fromEntries(found)
  }

  /** The proxies between those workers and those servers. */
  between(places: readonly number[], servers: readonly number[]): TcpProxy[] {
    return places.flatMap((place) => servers.map((server) => this.proxies[place]?.[server] as TcpProxy))
  }

  async close(): Promise<void> {
    await Promise.all(this.proxies.flat().map((proxy) => proxy.close()))
  }
}
