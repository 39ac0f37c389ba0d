import type { Runtime } from '../../../core/runtime.ts'
import { answerError, connectionLost, type WireError } from './errors.ts'
import { type JuteReader, JuteWriter } from './jute.ts'

/** One request, with the handlers of its answer. */
export interface PipelineRequest<T> {
  readonly operation: number
  /** The path of the request, for errors. */
  readonly about: string
  readonly write: (writer: JuteWriter) => void
  /** Called before the next packet is read, so that a watch is in place when its event follows at once. */
  readonly read: (reader: JuteReader) => T
  /** The value of an error that counts as an answer; undefined rejects the request. */
  readonly excuse?: (error: WireError) => T | undefined
}

interface Pending {
  readonly xid: number
  readonly answer: (code: number, reader: JuteReader) => void
  readonly reject: (error: WireError) => void
  readonly about: string
}

/** The connection, while there is one. */
export interface Wire {
  write(bytes: Buffer): void
  keepAlive(wanted: boolean): void
}

/** Requests on one connection: one write carries those of one turn, and answers come in the order of the requests. */
export class Pipeline {
  /** The time of the last request. */
  sentAtMs = 0
  private readonly runtime: Runtime
  private readonly wire: Wire
  private readonly writer = new JuteWriter()
  private pending: Pending[] = []
  private answered = 0
  private xid = 0
  private flushing = false

  constructor(runtime: Runtime, wire: Wire) {
    this.runtime = runtime
    this.wire = wire
  }

  get isBusy(): boolean {
    return this.pending.length > this.answered
  }

  request<T>({ operation, about, write, read, excuse }: PipelineRequest<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      // Negative numbers mark packets that answer no request.
      this.xid = (this.xid + 1) & 0x7fffffff
      const answer = (code: number, reader: JuteReader): void => {
        if (code === 0) {
          // An unreadable answer ends the connection, but this request is no longer pending and must reject here.
          try {
            resolve(read(reader))
          } catch (error) {
            reject(connectionLost(`its answer cannot be read (${about})`))
            throw error
          }
          return
        }
        const error = answerError(code, about)
        const value = excuse?.(error)
        if (value === undefined) reject(error)
        else resolve(value)
      }
      if (!this.isBusy) this.wire.keepAlive(true)
      this.pending.push({ xid: this.xid, about, answer, reject })
      this.post(this.xid, operation, write)
    })
  }

  post(xid: number, operation: number, write: (writer: JuteWriter) => void): void {
    const packet = this.writer.begin()
    this.writer.int(xid)
    this.writer.int(operation)
    write(this.writer)
    this.writer.end(packet)
    this.sentAtMs = this.runtime.nowMs()
    if (this.flushing) return
    this.flushing = true
    this.runtime.defer(this.flush)
  }

  /** Takes the answer to the oldest request; any other one means that the stream is broken. */
  settle(xid: number, code: number, reader: JuteReader): void {
    const request = this.pending[this.answered]
    if (request?.xid !== xid) throw new RangeError(`an answer to request ${xid}, which was not the next`)
    this.answered++
    if (this.answered === this.pending.length) {
      this.pending = []
      this.answered = 0
      this.wire.keepAlive(false)
    }
    request.answer(code, reader)
  }

  /** Rejects all pending requests, because the connection is gone. */
  abandon(errorOf: (about: string) => WireError): void {
    const lost = this.pending.slice(this.answered)
    this.pending = []
    this.answered = 0
    this.writer.clear()
    for (const { about, reject } of lost) reject(errorOf(about))
  }

  private readonly flush = (): void => {
    this.flushing = false
    if (this.writer.size > 0) this.wire.write(this.writer.take())
  }
}
