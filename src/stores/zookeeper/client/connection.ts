import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TlsOptions } from '../../../core/tls.ts'
import { whyOf } from '../../../errors.ts'

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

/** The same as Node's own types call it. */
type TlsFiles = { [name in keyof TlsOptions]: Buffer }

/** One connection to one server: bytes become packets. */
export class Connection {
  private readonly socket: Socket
  private readonly listener: ConnectionListener
  private chunks: Buffer[] = []
  private buffered = 0
  private over = false

  /** Over TLS when `tls` is there: then the certificate must be for this very host. */
  constructor({ host, port }: Server, tls: TlsOptions | null, listener: ConnectionListener) {
    this.listener = listener
    this.socket = tls === null ? connect(port, host) : connectTls({ ...(tls as TlsFiles), host, port })
    this.socket.setNoDelay(true)
    // Whoever waits for an answer keeps the process alive, an idle session does not.
    this.socket.unref()
    this.socket.on(tls === null ? 'connect' : 'secureConnect', () => {
      if (!this.over) listener.opened()
    })
    this.socket.on('data', (chunk) => this.receive(chunk))
    this.socket.on('error', (error) => this.close(tls === null ? whyOf(error) : tlsFailure(error)))
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

/** OpenSSL's own words say what it saw, and not what to do about it. */
function tlsFailure(error: Error & { code?: string; reason?: string }): string {
  const { code = '', reason = whyOf(error) } = error
  if (/SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/.test(code))
    return `its certificate is not trusted (${reason}): name the authority with ca`
  if (/alert/i.test(reason))
    return `the server ended the TLS handshake (${reason}): it may want a client certificate that it trusts, cert and key`
  if (/wrong version number|packet length|before secure TLS/i.test(reason))
    return `no TLS is spoken there (${reason}): check the port`
  return reason
}
