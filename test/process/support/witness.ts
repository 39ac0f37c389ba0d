import { createServer, type Server, type Socket } from 'node:net'
import { eachLine } from './lines.ts'
import type { Answer, Testimony } from './messages.ts'

/** An increment whose worker said that it is in the file. */
export interface Acknowledged {
  readonly name: string
  readonly sequence: number
  readonly value: number
}

/**
 * Sees who is inside, knowing nothing of locks. A worker waits for the answer to `enter` before it works and for the
 * answer to `exit` before it lets go, so two that are inside at once here were inside at once.
 */
export class Witness {
  readonly acknowledged: Acknowledged[] = []
  readonly overlaps: string[] = []
  readonly tokens: bigint[] = []
  /** When somebody came in, on this process's monotonic clock. */
  readonly entersMs: number[] = []
  private readonly goOn: (name: string) => boolean
  private readonly counts = new Map<string, number>()
  private readonly inside = new Set<string>()
  private readonly dead = new Set<string>()
  private readonly sockets = new Set<Socket>()
  private readonly ready: Socket[] = []
  private readonly server: Server
  private awaited = 0

  /** `goOn` is asked after every increment whether its worker is to make another. */
  constructor(goOn: (name: string) => boolean) {
    this.goOn = goOn
    this.server = createServer((socket) => this.hear(socket))
  }

  /** The first `awaited` workers begin together. */
  listen(path: string, awaited: number): Promise<void> {
    this.awaited = awaited
    return new Promise((resolve) => this.server.listen(path, resolve))
  }

  close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  /** The process inside right now. */
  get holder(): string | undefined {
    return [...this.inside][0]
  }

  /** How many increments of a worker were acknowledged. */
  countOf(name: string): number {
    return this.counts.get(name) ?? 0
  }

  /** The work of a worker ended here and now, whatever it has still to say. */
  killed(name: string): void {
    this.dead.add(name)
    this.inside.delete(name)
  }

  private hear(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('close', () => this.sockets.delete(socket))
    let name = ''
    eachLine(socket, (line) => {
      const testimony = JSON.parse(line) as Testimony
      switch (testimony.kind) {
        case 'ready':
          name = testimony.name
          this.assemble(socket)
          break
        case 'enter':
          this.enter(name, BigInt(testimony.token))
          answer(socket, 'go')
          break
        case 'exit':
          this.exit({ name, sequence: testimony.sequence, value: testimony.value })
          answer(socket, this.goOn(name) ? 'go' : 'stop')
      }
    })
  }

  private assemble(socket: Socket): void {
    this.ready.push(socket)
    if (this.ready.length < this.awaited) return
    this.awaited = 0
    for (const waiting of this.ready.splice(0)) answer(waiting, 'go')
  }

  private enter(name: string, token: bigint): void {
    // Said before it was killed and heard after: it is not inside any more.
    if (this.dead.has(name)) return
    this.tokens.push(token)
    this.entersMs.push(performance.now())
    for (const other of this.inside) this.overlaps.push(`${name} came in while ${other} was inside`)
    this.inside.add(name)
  }

  private exit(increment: Acknowledged): void {
    this.inside.delete(increment.name)
    this.counts.set(increment.name, this.countOf(increment.name) + 1)
    this.acknowledged.push(increment)
  }
}

function answer(socket: Socket, text: Answer): void {
  if (socket.writable) socket.write(`${text}\n`)
}
