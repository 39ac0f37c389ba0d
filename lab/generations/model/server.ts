import { once } from 'node:events'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { LabServer } from '../environments.ts'
import { Decoder, encodeReply } from '../wire/protocol.ts'
import { Keys } from './keys.ts'
import { ServerSession } from './session.ts'

type Disk = ReturnType<Keys['snapshot']>

/**
 * A model of Redis inside this process that speaks its protocol, so that the processes of a story meet it as they would
 * meet the real one. What it keeps over a crash is what the real one would have handed to the kernel.
 */
export class ModelServer implements LabServer {
  readonly keys = new Keys()
  private readonly appendOnly: boolean
  private readonly sockets = new Set<Socket>()
  private listener: NetServer | null = null
  private port = 0
  private disk: Disk = new Map()

  private constructor(settings: readonly string[]) {
    this.appendOnly = settings.includes('--appendonly')
  }

  static async start(...settings: readonly string[]): Promise<ModelServer> {
    const server = new ModelServer(settings)
    await server.begin()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async begin(): Promise<void> {
    this.keys.restore(this.disk)
    this.listener = createServer((socket) => this.serve(socket)).listen(this.port, '127.0.0.1')
    await once(this.listener, 'listening')
    this.port = (this.listener.address() as AddressInfo).port
  }

  async crash(): Promise<void> {
    const { listener } = this
    this.listener = null
    if (listener === null) return
    // Every answer has been written by now, and an append-only file has whatever was answered.
    if (this.appendOnly) this.disk = this.keys.snapshot()
    const closed = once(listener, 'close')
    listener.close()
    for (const socket of this.sockets) socket.destroy()
    await closed
  }

  stop(): Promise<void> {
    return this.crash()
  }

  private serve(socket: Socket): void {
    const decoder = new Decoder()
    const session = new ServerSession(this.keys)
    this.sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      for (const request of decoder.feed(chunk)) {
        const words = (request as readonly string[]).map(String)
        socket.write(encodeReply(words[0] === 'SAVE' ? this.save() : session.answer(words)))
      }
    })
  }

  private save(): string {
    this.disk = this.keys.snapshot()
    return 'OK'
  }
}
