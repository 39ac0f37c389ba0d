import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../../scripts/servers/ports.ts'
import { sever } from '../../scripts/servers/proxy.ts'

/** One connection: the client's end, and the server's unless nobody answers it. */
interface Link {
  readonly client: Socket
  readonly server: Socket | null
  stranded: boolean
}

/**
 * The way of clients to one server. Unlike the faults of `TcpProxy`, those of a road can differ between connections
 * that were there before and connections that come later.
 */
export class Road {
  readonly port: number
  private readonly target: number
  private readonly links = new Set<Link>()
  private server: Server | null = null
  private silent = false

  private constructor(port: number, target: number) {
    this.port = port
    this.target = target
  }

  static async to(target: number): Promise<Road> {
    const road = new Road(await freePort(), target)
    await road.open()
    return road
  }

  /** Connections are reset, new ones are refused. */
  cut(): void {
    this.server?.close()
    this.server = null
    this.reset()
  }

  /** Connections are reset; new ones are accepted and never answered. */
  silence(): void {
    this.silent = true
    this.reset()
  }

  /** Connections stay and swallow everything, new ones work: the server moved to another machine. */
  strand(): void {
    for (const link of this.links) link.stranded = true
  }

  async heal(): Promise<void> {
    this.silent = false
    for (const link of this.links) if (link.stranded || link.server === null) this.end(link)
    if (this.server === null) await this.open()
  }

  close(): void {
    this.cut()
  }

  private open(): Promise<void> {
    const server = createServer((client) => this.accept(client))
    this.server = server
    return new Promise((resolve, reject) => {
      server.on('error', reject)
      server.listen(this.port, '127.0.0.1', resolve)
    })
  }

  private accept(client: Socket): void {
    const server = this.silent ? null : connect(this.target, '127.0.0.1')
    const link: Link = { client, server, stranded: false }
    this.links.add(link)
    client.setNoDelay(true)
    client.on('error', ignore)
    client.on('close', () => this.end(link))
    client.on('data', (chunk) => link.stranded || server?.write(chunk))
    if (server === null) return
    server.setNoDelay(true)
    server.on('error', ignore)
    server.on('close', () => link.stranded || this.end(link))
    server.on('data', (chunk) => link.stranded || client.write(chunk))
  }

  private reset(): void {
    for (const link of this.links) this.end(link)
  }

  private end(link: Link): void {
    if (!this.links.delete(link)) return
    for (const socket of [link.client, link.server]) if (socket !== null) sever(socket)
  }
}

function ignore(): void {}
