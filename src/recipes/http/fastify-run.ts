import type { ServerResponse } from 'node:http'
import { nodeRuntime, type Timer } from '../../core/runtime.ts'
import { shadow } from './capture.ts'
import type { FastifyReplyLike } from './fastify.ts'
import { type Ended, keptHeaders } from './keys.ts'

/** A running handler: its result, and when that has been stored. A client that disconnects ends nothing. */
export class FastifyRun {
  readonly ended: Promise<Ended>
  private readonly reply: FastifyReplyLike
  private readonly abandonMs: number
  private readonly kept: Promise<unknown>
  private settle: (ended: Ended) => void = () => {}
  private fail: (error: Error) => void = () => {}
  private timer: Timer | null = null
  private isGone = false
  private isDestroyed = false
  private isSending = false
  /** The state of the handler: at work, returned nothing, or unknown. */
  private handler: 'unknown' | 'works' | 'returned nothing' = 'unknown'

  constructor(reply: FastifyReplyLike, abandonMs: number, kept: Promise<unknown>) {
    this.reply = reply
    this.abandonMs = abandonMs
    this.kept = kept
    this.ended = new Promise((resolve, reject) => {
      this.settle = resolve
      this.fail = reject
    })
    if (reply.raw.destroyed) this.closed()
    else reply.raw.once('close', () => this.closed())
    const restore = shadow(reply.raw, { destroy: (error?: Error) => this.destroyed(restore, error) }, {})
  }

  /** The promise of an asynchronous handler marks its end. */
  follow(work: Promise<unknown>): void {
    const settled = (known: 'unknown' | 'returned nothing') => {
      this.handler = known
      this.look()
    }
    this.handler = 'works'
    this.look()
    work.then(
      (result) => settled(result === undefined ? 'returned nothing' : 'unknown'),
      (error) => {
        // The reply is not sent, not even by Fastify if the handler hijacked the connection.
        if (this.isDestroyed) this.fail(error)
        settled('unknown')
      },
    )
  }

  /** The response to the client, sent after it was stored. */
  async send(payload: unknown): Promise<unknown> {
    const { reply } = this
    this.isSending = true
    const plain = payload instanceof Response ? unfolded(payload, reply) : payload
    const body = await bytesOf(plain)
    this.answered(body)
    await this.kept.catch(() => undefined)
    return plain === undefined || plain === null ? plain : body
  }

  private answered(body: Buffer): void {
    const { reply } = this
    this.timer?.clear()
    this.settle({
      status: reply.statusCode,
      headers: keptHeaders(Object.entries(reply.getHeaders())),
      body: body.toString('base64'),
    })
  }

  /** Only the handler's result gets here, not a disconnected client. */
  private destroyed(restore: () => void, error?: Error): ServerResponse {
    const { raw } = this.reply
    restore()
    this.isDestroyed = !raw.writableEnded && !this.isSending
    this.look()
    return raw.destroy(error)
  }

  private closed(): void {
    const { raw } = this.reply
    if (raw.writableEnded) {
      if (raw.statusCode >= 500) this.fail(new Error('the handler failed'))
      else this.settle({ notKept: 'its handler wrote the response to the connection itself' })
      return
    }
    this.isGone = true
    this.look()
  }

  /** After a disconnect, Fastify sends nothing for a handler that returned nothing, so that end is detected here. */
  private look(): void {
    this.timer?.clear()
    if (!(this.isGone || this.isDestroyed) || this.handler === 'works') return
    if (this.isDestroyed) {
      this.settle({ notKept: 'its handler destroyed the response' })
      return
    }
    if (this.handler === 'returned nothing' && !this.isSending) {
      this.answered(Buffer.alloc(0))
      return
    }
    const notKept = `its client was gone, and the handler had not ended its response ${this.abandonMs} ms later`
    this.timer = nodeRuntime.setTimer(() => this.settle({ notKept }), this.abandonMs, true)
  }
}

/** Copies the status and headers of a fetch response to the reply, as Fastify does; its body stays. */
function unfolded(response: Response, reply: FastifyReplyLike): unknown {
  reply.code(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  return response.body
}

/** A text, bytes, or a stream of either. */
async function bytesOf(payload: unknown): Promise<Buffer> {
  if (payload === undefined || payload === null) return Buffer.alloc(0)
  if (typeof payload === 'string' || payload instanceof Uint8Array) return Buffer.from(payload as string)
  const chunks: Buffer[] = []
  for await (const chunk of payload as AsyncIterable<string>) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
