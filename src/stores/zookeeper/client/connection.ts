import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TlsOptions } from '../../../core/tls.ts'
import { whyOf } from '../../../errors.ts'

export interface Server {
  readonly host: string
  readonly port: number
}

/** The events of a connection; `closed` is the last one. */
export interface ConnectionListener {
  opened(): void
  packet(packet: Buffer): void
  closed(why: string): void
}

/** A larger answer means that the other end does not speak the protocol. */
const LARGEST_PACKET = 64 * 1024 * 1024
const LENGTH_BYTES = 4

/** The files as Node's own types declare them. */
type TlsFiles = { [name in keyof TlsOptions]: Buffer }

/** One connection to one server, which splits the bytes into packets. */
export class ServerConnection {
  private readonly socket: Socket
  private readonly listener: ConnectionListener
  private chunks: Buffer[] = []
  private buffered = 0
  private over = false

  /** With `tls`, the certificate must be for this host. */
  constructor({ host, port }: Server, tls: TlsOptions | null, listener: ConnectionListener) {
    this.listener = listener
    this.socket = tls === null ? connect(port, host) : connectTls({ ...(tls as TlsFiles), host, port })
    this.socket.setNoDelay(true)
    // A pending request keeps the process alive, an idle session does not.
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
    // A large packet arrives in many chunks, which are concatenated once.
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

/** Adds a remedy to OpenSSL's message. */
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
