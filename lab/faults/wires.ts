import { startProxy, type TcpProxy } from '../../scripts/servers/proxy.ts'

/** Every worker reaches every server through a proxy of its own. */
export class Wires {
  /** By the worker's place and the server's. */
  private readonly proxies: readonly (readonly TcpProxy[])[]

  private constructor(proxies: readonly (readonly TcpProxy[])[]) {
    this.proxies = proxies
  }

  static async start(workers: number, ports: readonly number[]): Promise<Wires> {
    const proxies: TcpProxy[][] = []
    for (let place = 0; place < workers; place++)
      proxies.push(await Promise.all(ports.map((port) => startProxy(port))))
    return new Wires(proxies)
  }

  get servers(): number {
    return this.proxies[0]?.length ?? 0
  }

  portsOf(place: number): number[] {
    return (this.proxies[place] ?? []).map(({ port }) => port)
  }

  /** The proxies between those workers and those servers. */
  between(places: readonly number[], servers: readonly number[]): TcpProxy[] {
    return places.flatMap((place) => servers.map((server) => this.proxies[place]?.[server] as TcpProxy))
  }

  async close(): Promise<void> {
    await Promise.all(this.proxies.flat().map((proxy) => proxy.close()))
  }
}
