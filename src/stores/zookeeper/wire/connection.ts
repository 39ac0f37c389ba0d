import { connect, type Socket } from 'node:net'

export interface Server {
  readonly host: string
  readonly port: number
}

/** Who is told what happens on a connection; nothing is told after `closed`. */
export interface ConnectionListener {
  opened(): void
  packet(packet: Buffer): void
  closed(why: string): void
}

/** No answer of a server is larger: more means that the other end does not speak ZooKeeper's language. */
const LARGEST_PACKET = 64 * 1024 * 1024
const LENGTH_BYTES = 4

/** One connection to one server: bytes become packets. */
export class Connection {
  private readonly socket: Socket
  private readonly listener: ConnectionListener
  private chunks: Buffer[] = []
  private buffered = 0
  private over = false

  constructor({ host, port }: Server, listener: ConnectionListener) {
    this.listener = listener
    this.socket = connect(port, host)
    this.socket.setNoDelay(true)
    // Whoever waits for an answer keeps the process alive, an idle session does not.
    this.socket.unref()
    this.socket.on('connect', () => {
      if (!this.over) listener.opened()
    })
    this.socket.on('data', (chunk) => this.receive(chunk))
    this.socket.on('error', (error) => this.close(error.message))
    this.socket.on('close', () => this.close('the server closed it'))
  }

  write(bytes: Buffer): void {
    if (!this.over) this.socket.write(bytes)
  }

  /** Whether the process stays alive for this connection. */
  keepAlive(wanted: boolean): void {
    if (wanted) this.socket.ref()
    else this.socket.unref()
  }

  close(why: string): void {
    if (this.over) return
    this.over = true
    this.socket.destroy()
    this.listener.closed(why)
  }

  private receive(chunk: Buffer): void {
    if (this.over) return
    this.chunks.push(chunk)
    this.buffered += chunk.length
    // A large packet comes in many pieces, which are put together once.
    if (this.buffered < LENGTH_BYTES || this.buffered < this.wanted()) return
    let bytes = this.chunks.length === 1 ? chunk : Buffer.concat(this.chunks)
    try {
      while (bytes.length >= LENGTH_BYTES && !this.over) {
        const length = bytes.readInt32BE(0)
        if (length < 0 || length > LARGEST_PACKET) throw new RangeError(`a packet of ${length} bytes`)
        if (bytes.length < LENGTH_BYTES + length) break
        this.listener.packet(bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length))
        bytes = bytes.subarray(LENGTH_BYTES + length)
      }
    } catch (error) {
      this.close(`it does not speak the language of ZooKeeper: ${String(error)}`)
      return
    }
    this.chunks = bytes.length === 0 ? [] : [bytes]
    this.buffered = bytes.length
  }

  private wanted(): number {
    const first = this.chunks[0] as Buffer
    if (first.length >= LENGTH_BYTES) return LENGTH_BYTES + first.readInt32BE(0)
    return LENGTH_BYTES
  }
}
