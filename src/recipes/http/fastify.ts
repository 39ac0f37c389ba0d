import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Recipes } from '../index.ts'
import {
  bodyOf,
  decide,
  type IdempotencyOptions,
  type KeptResponse,
  problemText,
  type Verdict,
} from './keys.ts'

/** As much of Fastify as is needed. */
export interface FastifyRequestLike {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body?: unknown
  readonly raw: IncomingMessage
}
export interface FastifyReplyLike {
  readonly raw: ServerResponse
  readonly statusCode: number
  code(status: number): FastifyReplyLike
  header(name: string, value: unknown): FastifyReplyLike
  getHeaders(): Record<string, unknown>
  send(payload?: unknown): FastifyReplyLike
}
interface Hooked {
  addHook(
    name: 'preHandler',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
  addHook(
    name: 'onSend',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, payload: unknown) => Promise<unknown>,
  ): unknown
}

/** A run that goes on while the handler works: what it answers, and when that has been kept. */
interface Run {
  answered(response: KeptResponse): void
  readonly kept: Promise<unknown>
}

/** Registers the hooks: `idempotencyKeyFastify(app, locks)`. A response is sent after it was kept. */
export function idempotencyKeyFastify(
  app: Hooked,
  locks: Recipes,
  options: IdempotencyOptions<FastifyRequestLike> = {},
): void {
  const runs = new WeakMap<IncomingMessage, Run>()
  app.addHook('preHandler', async (request, reply) => {
    const header = request.headers['idempotency-key']
    const asked = {
      request,
      method: request.method,
      path: request.url,
      header: Array.isArray(header) ? header.join(', ') : header,
      body: bodyOf(request.body),
    }
    const verdict = await new Promise<Verdict>((resolve, reject) => {
      const kept = decide(locks, options, asked, () => {
        const { response, answered } = awaited(reply)
        runs.set(request.raw, { answered, kept })
        // From here on the handler works; what becomes of its response is awaited before it is sent.
        resolve({ kind: 'pass' })
        return response
      })
      kept.then(resolve, reject)
    })
    if (verdict.kind === 'pass') return undefined
    answer(reply, verdict)
    return reply
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const run = runs.get(request.raw)
    if (run === undefined) return payload
    const body = await bytesOf(payload)
    run.answered({ status: reply.statusCode, headers: headersOf(reply), body: body.toString('base64') })
    await run.kept.catch(() => undefined)
    return payload === undefined || payload === null ? payload : body
  })
}

function awaited(reply: FastifyReplyLike): { response: Promise<KeptResponse>; answered: Run['answered'] } {
  let answered: Run['answered'] = () => {}
  const response = new Promise<KeptResponse>((resolve, reject) => {
    answered = resolve
    reply.raw.once('close', () =>
      reject(new Error('the connection was closed before the response was ended')),
    )
  })
  return { response, answered }
}

function answer(reply: FastifyReplyLike, verdict: Exclude<Verdict, { kind: 'pass' }>): void {
  if (verdict.kind === 'problem') {
    reply.code(verdict.status).header('Content-Type', 'application/problem+json').send(problemText(verdict))
    return
  }
  const { status, headers, body } = verdict.response
  reply.code(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  if (verdict.replayed) reply.header('Idempotency-Replayed', 'true')
  reply.send(Buffer.from(body, 'base64'))
}

/** A text, bytes, or a stream of either. */
async function bytesOf(payload: unknown): Promise<Buffer> {
  if (payload === undefined || payload === null) return Buffer.alloc(0)
  if (typeof payload === 'string' || payload instanceof Uint8Array) return Buffer.from(payload as string)
  const chunks: Buffer[] = []
  for await (const chunk of payload as AsyncIterable<string>) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function headersOf(reply: FastifyReplyLike): KeptResponse['headers'] {
  const entries = Object.entries(reply.getHeaders()).filter(
    ([name]) => name !== 'content-length' && name !== 'date',
  )
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  )
}
