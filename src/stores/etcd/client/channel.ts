import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { TlsOptions } from '../../../core/tls.ts'
import { errorOf, GrpcError, type Trailers, UNAVAILABLE, Unframer } from './grpc.ts'

/** Who is told about a stream: its messages, then its end, once. */
export interface Sink {
  message(body: Buffer): void
  end(error: Error): void
}

/** The sending side of a stream. */
export interface Outlet {
  send(message: Buffer): void
  close(): void
}

/** An answer may be a long line, and many come at once: more than the 64 kB that HTTP/2 begins with. */
const WINDOW_BYTES = 4 * 1024 * 1024

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_CONTENT_TYPE, HTTP2_HEADER_TE, NGHTTP2_CANCEL } =
  constants

/** One connection to one member, with the calls and streams that it carries. */
export class Channel {
  private readonly session: ClientHttp2Session
  private readonly onClosed: () => void
  /** Whether a request can have reached the member. */
  connected = false
  private readonly streams = new Set<ClientHttp2Stream>()
  private calls = 0
  private broken: Error | null = null

  /** Without `tls` the connection is in clear text. `onClosed` is told once, when the connection is over, whoever ended it. */
  constructor(endpoint: string, tls: TlsOptions | null, onClosed: () => void) {
    this.onClosed = onClosed
    const settings = { initialWindowSize: WINDOW_BYTES, enablePush: false }
    this.session = connect(`${tls === null ? 'http' : 'https'}://${endpoint}`, { settings, ...tls })
    this.session.on('connect', () => {
      // It may have been given up in the moment before: told all the same, it would throw at the host.
      if (this.session.destroyed) return
      this.connected = true
      this.session.setLocalWindowSize(WINDOW_BYTES)
    })
    this.session.on('error', (error) => this.break(error))
    this.session.on('close', () => this.break(new GrpcError(UNAVAILABLE, 'the connection was closed')))
    // Only a call that somebody waits for keeps the process alive.
    this.session.unref()
  }

  /** Whether nothing new can be sent: a member that goes away lets what is under way come to an end. */
  get closed(): boolean {
    return this.broken !== null || this.session.closed
  }

  /** One request, one answer. Rejects when the outcome is unknown, or with a `GrpcError` that the member gave. */
  call(path: string, message: Buffer, headers: Readonly<Record<string, string>>): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.request(path, headers)
      if (this.calls++ === 0) this.session.ref()
      const pieces: Buffer[] = []
      let trailers: Trailers | null = null
      stream.on('response', (head: Trailers) => {
        if (head['grpc-status'] !== undefined) trailers = head
      })
      stream.on('trailers', (tail: Trailers) => {
        trailers = tail
      })
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      let failure: Error | null = null
      stream.on('error', (error) => {
        failure = error
      })
      stream.on('close', () => {
        if (--this.calls === 0) this.session.unref()
        if (trailers === null) {
          // Streams hear of a connection that fails before the connection itself tells.
          reject(this.broken ?? new GrpcError(UNAVAILABLE, 'the connection broke', { cause: failure }))
          return
        }
        const error = errorOf(trailers)
        if (error !== null) reject(error)
        else resolve((pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).subarray(5))
      })
      stream.end(message)
    })
  }

  /** A stream of messages both ways. It does not keep the process alive. */
  open(path: string, headers: Readonly<Record<string, string>>, sink: Sink): Outlet {
    const stream = this.request(path, headers)
    const unframer = new Unframer()
    this.streams.add(stream)
    let trailers: Trailers = {}
    stream.on('response', (head: Trailers) => {
      if (head['grpc-status'] !== undefined) trailers = head
    })
    stream.on('trailers', (tail: Trailers) => {
      trailers = tail
    })
    stream.on('data', (piece: Buffer) => {
      for (const body of unframer.push(piece)) sink.message(body)
    })
    stream.on('error', ignore)
    stream.on('close', () => {
      this.streams.delete(stream)
      sink.end(this.broken ?? errorOf(trailers) ?? new GrpcError(UNAVAILABLE, 'the stream ended'))
    })
    return {
      send: (message) => void stream.write(message),
      close: () => stream.close(NGHTTP2_CANCEL),
    }
  }

  /** Ends the streams, which can begin again elsewhere; calls go on, and the connection ends with the last of them. */
  drain(): void {
    for (const stream of this.streams) stream.close(NGHTTP2_CANCEL)
    this.session.close()
  }

  /** Ends the connection and everything on it. */
  destroy(reason: Error): void {
    this.break(reason)
  }

  private request(path: string, headers: Readonly<Record<string, string>>): ClientHttp2Stream {
    if (this.broken !== null) throw this.broken
    return this.session.request({
      [HTTP2_HEADER_METHOD]: 'POST',
      [HTTP2_HEADER_PATH]: path,
      [HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
      [HTTP2_HEADER_TE]: 'trailers',
      ...headers,
    })
  }

  private break(error: Error): void {
    if (this.broken !== null) return
    this.broken = error
    this.session.destroy()
    this.onClosed()
  }
}

/** What went wrong with a stream is told when it closes. */
function ignore(): void {}
