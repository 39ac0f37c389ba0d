import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { TlsOptions } from '../../../core/tls.ts'
import { errorOf, GrpcError, type Trailers, UNAVAILABLE, Unframer } from './grpc.ts'

/** Receives the messages of a stream, then its end, once. */
export interface StreamListener {
  message(body: Buffer): void
  end(error: Error): void
}

/** The sending side of a stream. */
export interface Outlet {
  send(message: Buffer): void
  close(): void
}

type Headers = Readonly<Record<string, string>>

/** An answer may be long, and many arrive at once: more than the 64 kB that HTTP/2 begins with. */
const WINDOW_BYTES = 4 * 1024 * 1024

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_CONTENT_TYPE, HTTP2_HEADER_TE, NGHTTP2_CANCEL } =
  constants

/** One connection to one member, with its calls and streams. */
export class Channel {
  private readonly session: ClientHttp2Session
  private readonly onClosed: () => void
  /** True if a request may have reached the member. */
  connected = false
  private readonly streams = new Set<ClientHttp2Stream>()
  private calls = 0
  private broken: Error | null = null

  /** Without `tls` the connection is in clear text. Calls `onClosed` once, when the connection ends for any reason. */
  constructor(endpoint: string, tls: TlsOptions | null, onClosed: () => void) {
    this.onClosed = onClosed
    const settings = { initialWindowSize: WINDOW_BYTES, enablePush: false }
    this.session = connect(`${tls === null ? 'http' : 'https'}://${endpoint}`, { settings, ...tls })
    this.session.on('connect', () => {
      // The session may be destroyed a moment before this event: setting its window would throw out of the event loop.
      if (this.session.destroyed) return
      this.connected = true
      this.session.setLocalWindowSize(WINDOW_BYTES)
    })
    this.session.on('error', (error) => this.destroy(error))
    this.session.on('close', () => this.destroy(new GrpcError(UNAVAILABLE, 'the connection was closed')))
    // Only a pending call keeps the process alive.
    this.session.unref()
  }

  /** True if no new request can be sent. After a GOAWAY of the member, pending calls still finish. */
  get closed(): boolean {
    return this.broken !== null || this.session.closed
  }

  /** One request, one answer. Rejects when the outcome is unknown, or with the member's own `GrpcError`. */
  call(path: string, message: Buffer, headers: Headers): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      const stream = this.request(path, headers, (error) => {
        if (--this.calls === 0) this.session.unref()
        if (error !== null) reject(error)
        else resolve((pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)).subarray(5))
      })
      if (this.calls++ === 0) this.session.ref()
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.end(message)
    })
  }

  /** A stream of messages both ways. It does not keep the process alive. */
  open(path: string, headers: Headers, listener: StreamListener): Outlet {
    const unframer = new Unframer()
    const stream = this.request(path, headers, (error) => {
      this.streams.delete(stream)
      listener.end(error ?? new GrpcError(UNAVAILABLE, 'the stream ended'))
    })
    this.streams.add(stream)
    stream.on('data', (piece: Buffer) => {
      for (const body of unframer.push(piece)) listener.message(body)
    })
    return {
      send: (message) => void stream.write(message),
      close: () => stream.close(NGHTTP2_CANCEL),
    }
  }

  /** Ends the streams, which can reopen elsewhere; the connection ends with its last call. */
  drain(): void {
    for (const stream of this.streams) stream.close(NGHTTP2_CANCEL)
    this.session.close()
  }

  /** Ends the connection and everything on it. */
  destroy(reason: Error): void {
    if (this.broken !== null) return
    this.broken = reason
    this.session.destroy()
    this.onClosed()
  }

  /** Calls `ended` once; the error is null when the member reported success. */
  private request(path: string, headers: Headers, ended: (error: Error | null) => void): ClientHttp2Stream {
    if (this.broken !== null) throw this.broken
    const stream = this.session.request({
      [HTTP2_HEADER_METHOD]: 'POST',
      [HTTP2_HEADER_PATH]: path,
      [HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
      [HTTP2_HEADER_TE]: 'trailers',
      ...headers,
    })
    let trailers: Trailers | null = null
    let failure: Error | null = null
    stream.on('response', (head: Trailers) => {
      if (head['grpc-status'] !== undefined) trailers = head
    })
    stream.on('trailers', (tail: Trailers) => {
      trailers = tail
    })
    stream.on('error', (error) => {
      failure = error
    })
    stream.on('close', () => {
      if (trailers !== null) ended(errorOf(trailers))
      // A stream notices a broken connection before the session reports it.
      else ended(this.broken ?? new GrpcError(UNAVAILABLE, 'the connection broke', { cause: failure }))
    })
    return stream
  }
}
