import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { hasMethods } from '../../core/check.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { Recipes } from '../index.ts'
import { type AbandonOptions, abandonMsOf, checkMiddleware, FOLLOWED } from './check.ts'
import { FastifyRun } from './fastify-run.ts'
import { bodyOf, decide, type IdempotencyOptions, type KeyVerdict, problemText } from './keys.ts'

/** The used part of Fastify. */
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
type Handler = (this: unknown, request: FastifyRequestLike, reply: FastifyReplyLike) => unknown
interface Hooked {
  addHook(
    name: 'preHandler',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
  addHook(
    name: 'onSend',
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, payload: unknown) => Promise<unknown>,
  ): unknown
  addHook(name: 'onRoute', hook: (route: { handler: Handler }) => void): unknown
}

/**
 * Registers the hooks: `idempotencyKeyFastify(app, locks)`. Call it before the routes, so that the hooks see the end of an
 * asynchronous handler. A response is sent after it was stored.
 */
export function idempotencyKeyFastify(
  app: Hooked,
  locks: Recipes,
  options: IdempotencyOptions<FastifyRequestLike> & AbandonOptions = {},
): void {
  if (!hasMethods(app, ['addHook'])) throw new InvalidArgumentError('app', 'must be an instance of Fastify')
  checkMiddleware(locks, options, FOLLOWED)
  const abandonMs = abandonMsOf(options)
  const runs = new WeakMap<IncomingMessage, FastifyRun>()
  app.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = function (request, reply) {
      const result = handler.call(this, request, reply)
      if (result instanceof Promise) runs.get(request.raw)?.follow(result)
      return result
    }
  })
  app.addHook('preHandler', async (request, reply) => {
    const header = request.headers['idempotency-key']
    const asked = {
      request,
      method: request.method,
      path: request.url,
      header: Array.isArray(header) ? header.join(', ') : header,
      body: bodyOf(request.body),
    }
    const verdict = await new Promise<KeyVerdict>((resolve, reject) => {
      const kept: Promise<KeyVerdict> = decide(locks, options, asked, () => {
        const run = new FastifyRun(reply, abandonMs, kept)
        runs.set(request.raw, run)
        // From here on the handler runs; its response is sent after it was stored.
        resolve({ kind: 'pass' })
        return run.ended
      })
      kept.then(resolve, reject)
    })
    if (verdict.kind === 'pass') return undefined
    answer(reply, verdict)
    return reply
  })
  app.addHook('onSend', async (request, _reply, payload) => {
    const run = runs.get(request.raw)
    return run === undefined ? payload : run.send(payload)
  })
}

function answer(reply: FastifyReplyLike, verdict: KeyVerdict): void {
  if (verdict.kind === 'problem')
    reply.code(verdict.status).header('Content-Type', 'application/problem+json').send(problemText(verdict))
  if (verdict.kind !== 'respond') return
  const { status, headers, body } = verdict.response
  reply.code(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  if (verdict.replayed) reply.header('Idempotency-Replayed', 'true')
  const bytes = Buffer.from(body, 'base64')
  // Fastify sets a content type for bytes without one.
  if (bytes.length === 0) reply.send()
  else reply.send(headers['content-type'] === undefined ? Readable.from(bytes) : bytes)
}
