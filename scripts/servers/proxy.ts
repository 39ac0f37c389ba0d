import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterLate, type Direction, type Link, type Trap } from './proxy-link.ts'

export interface ProxyOptions {
  /** How long a connection, which the proxy has accepted already, waits for a server that does not listen yet; default 0. */
  readonly patienceMs?: number
}

const DIAL_MS = 20

/** A proxy before a server of the loopback interface, with the faults of a network. */
export async function startProxy(targetPort: number, options: ProxyOptions = {}): Promise<TcpProxy> {
  const proxy = new TcpProxy(targetPort, options)
  await proxy.start()
  return proxy
}

export class TcpProxy {
  private targetPort: number
  private readonly patienceMs: number
  private readonly links = new Set<Link>()
  /** Clients whose server does not listen yet. */
  private readonly dialing = new Set<Socket>()
  private readonly timers = new Set<NodeJS.Timeout>()
  /** Chunks that are late, in the order in which they came. */
  private readonly delayed = new Map<NodeJS.Timeout, () => void>()
  private readonly held = new Set<Direction>()
  private readonly dropped = new Set<Direction>()
  private readonly banned = new Set<string>()
  private readonly traps: Trap[] = []
  private readonly server: Server
  private refusing = false
  private silencing = false
  private delayMs = 0
  private lagOf: (() => number) | null = null
  /** Chunks that went through, in each direction. */
  readonly passed: Record<Direction, number> = { requests: 0, replies: 0 }

  constructor(targetPort: number, { patienceMs = 0 }: ProxyOptions) {
    this.targetPort = targetPort
    this.patienceMs = patienceMs
    this.server = createServer((client) => this.accept(client))
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** How many connections are open. */
  get connections(): number {
    return this.links.size
  }

  /** How many chunks are late and on their way. */
  get late(): number {
    return this.delayed.size
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.on('error', reject)
      this.server.listen(0, '127.0.0.1', resolve)
      this.server.unref()
    })
  }

  /** Resets every connection once; new ones are served. */
  reset(): void {
    for (const link of this.links) this.end(link)
    for (const client of this.dialing) client.destroy()
    this.dialing.clear()
  }

  /** Resets every connection, and every new one, until it heals. */
  cut(): void {
    this.refusing = true
    this.reset()
  }

  /** Resets the connections of those clients alone that begin with a text that contains `part`, until it heals. */
  ban(part: string): void {
    this.banned.add(part)
    for (const link of this.links) if (link.opening?.includes(part) === true) this.end(link)
  }

  /** A silent partition: connections stay, nothing goes through; what was sent meanwhile arrives when it heals. */
  hold(...directions: Direction[]): void {
    for (const direction of directions.length === 0 ? BOTH : directions) this.held.add(direction)
  }

  /** A one-way partition: what the server (or the client) sends is lost. Connections that lost bytes end when it heals. */
  drop(...directions: Direction[]): void {
    for (const direction of directions.length === 0 ? BOTH : directions) this.dropped.add(direction)
  }

  /** New connections go to another server, as after a failover; those that are open stay where they are. */
  moveTo(port: number): void {
    this.targetPort = port
  }

  /** The connections that are open, and new ones if `newToo`, stay open, and what is sent on them is lost, until it heals. */
  silence(newToo = false): void {
    this.silencing = newToo
    for (const link of this.links) link.silent = true
  }

  /** The same for the connection of the next request that contains `part`, which still goes through. Resolves when it has. */
  silenceAfter(part: string | Buffer): Promise<void> {
    return this.trap(part, true)
  }

  /** Each chunk is that late, in each direction. */
  delay(ms: number): void {
    this.hurry()
    this.delayMs = ms
  }

  /**
   * Each connection is late by a time of its own, so that they overtake each other; what was sent on one that has ended since
   * still arrives. Within a connection the order stays: a stream of bytes has no other.
   */
  scatter(lagOf: () => number): void {
    this.hurry()
    this.lagOf = lagOf
    for (const link of this.links) link.lagMs = lagOf()
  }

  /**
   * Lets the next request that contains `part` through and loses what the server answers, and the connection with it.
   * Resolves when that has happened. The part must not be cut by the transport: an id or a path in plain text.
   */
  loseReplyTo(part: string | Buffer): Promise<void> {
    return this.trap(part, false)
  }

  heal(): void {
    this.refusing = this.silencing = false
    this.banned.clear()
    this.hurry()
    this.delayMs = 0
    this.lagOf = null
    for (const link of this.links) link.lagMs = 0
    this.held.clear()
    this.dropped.clear()
    this.traps.length = 0
    for (const link of this.links) {
      if (link.torn) this.end(link)
      else for (const direction of BOTH) this.flush(link, direction)
      link.silent = false
    }
  }

  async close(): Promise<void> {
    for (const timer of [...this.timers, ...this.delayed.keys()]) clearTimeout(timer)
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.cut()
    await closed
  }

  private trap(part: string | Buffer, silences: boolean): Promise<void> {
    return new Promise((sprung) => {
      this.traps.push({ part: Buffer.from(part), silences, sprung })
    })
  }

  private accept(client: Socket): void {
    if (this.refusing) {
      client.on('error', ignore)
      client.resetAndDestroy()
      return
    }
    this.dial(client, performance.now() + this.patienceMs)
  }

  private dial(client: Socket, giveUpAtMs: number): void {
    const server = connect(this.targetPort, '127.0.0.1')
    if (performance.now() >= giveUpAtMs) {
      this.dialing.delete(client)
      this.link(client, server)
      return
    }
    if (!this.dialing.has(client)) client.on('error', ignore)
    this.dialing.add(client)
    const again = (): void => {
      const timer = setTimeout(() => {
        this.timers.delete(timer)
        if (this.dialing.has(client)) this.dial(client, giveUpAtMs)
      }, DIAL_MS)
      this.timers.add(timer)
    }
    server.once('error', again)
    server.once('connect', () => {
      server.off('error', again)
      if (this.dialing.delete(client)) this.link(client, server)
      else server.destroy()
    })
  }

  private link(client: Socket, server: Socket): void {
    const link: Link = {
      ...{ client, server, waiting: { requests: [], replies: [] }, opening: null },
      ...{
        lagMs: this.lagOf?.() ?? 0,
        late: 0,
        afterwards: [],
        torn: false,
        silent: this.silencing,
        doomed: null,
      },
    }
    this.links.add(link)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', ignore)
      socket.on('close', () => afterLate(link, () => this.ended(link)))
    }
    client.once('data', (chunk) => {
      link.opening = chunk
      for (const part of this.banned) if (chunk.includes(part)) this.end(link)
    })
    client.on('data', (chunk) => this.receive(link, 'requests', chunk))
    server.on('data', (chunk) => this.receive(link, 'replies', chunk))
    client.on('end', () => afterLate(link, () => server.end()))
    server.on('end', () => afterLate(link, () => client.end()))
  }

  private receive(link: Link, direction: Direction, chunk: Buffer): void {
    if (!this.links.has(link)) return
    const lateMs = this.delayMs + link.lagMs
    if (lateMs === 0) {
      this.pass(link, direction, chunk)
      return
    }
    link.late++
    const arrive = (): void => {
      this.delayed.delete(timer)
      this.pass(link, direction, chunk)
      if (--link.late === 0) for (const act of link.afterwards.splice(0)) act()
    }
    const timer = setTimeout(arrive, lateMs)
    this.delayed.set(timer, arrive)
  }

  /** Late bytes arrive now: later ones must not overtake them on the same connection. */
  private hurry(): void {
    for (const [timer, arrive] of this.delayed) {
      clearTimeout(timer)
      arrive()
    }
  }

  private pass(link: Link, direction: Direction, chunk: Buffer): void {
    if (direction === 'replies' && link.doomed !== null) {
      link.doomed()
      this.end(link)
    } else if (link.silent || this.dropped.has(direction)) {
      link.torn = true
    } else {
      link.waiting[direction].push(chunk)
      if (!this.held.has(direction)) this.flush(link, direction)
      if (direction === 'requests') this.spring(link, chunk)
    }
  }

  private spring(link: Link, chunk: Buffer): void {
    const place = this.traps.findIndex(({ part }) => chunk.includes(part))
    const trap = place < 0 ? undefined : this.traps.splice(place, 1)[0]
    if (trap?.silences === false) link.doomed = trap.sprung
    if (trap?.silences !== true) return
    link.silent = link.torn = true
    trap.sprung()
  }

  private flush(link: Link, direction: Direction): void {
    const to = direction === 'requests' ? link.server : link.client
    for (const chunk of link.waiting[direction].splice(0)) {
      this.passed[direction]++
      to.write(chunk)
    }
  }

  private end(link: Link): void {
    this.links.delete(link)
    for (const socket of [link.client, link.server]) sever(socket)
  }

  private ended(link: Link): void {
    this.links.delete(link)
    link.client.destroySoon()
    link.server.destroySoon()
  }
}

/**
 * Ends a connection at once, with a reset where that can be. One that is not there yet cannot be reset; nor can one that is about
 * to end by itself: Node would then keep it for ever, and at the end of the process wait for it in a loop.
 */
export function sever(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

const BOTH: readonly Direction[] = ['requests', 'replies']

function ignore(): void {}
