import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Recipes } from '../index.ts'
import { capture, send } from './capture.ts'
import { bodyOf, decide, type IdempotencyOptions, problemText } from './keys.ts'

type Parsed = IncomingMessage & { body?: unknown; originalUrl?: string }
type Next = (error?: unknown) => void

/** Middleware for Express and its kin. It belongs behind the parser of the body, so that another body is noticed. */
export function idempotencyKey(locks: Recipes, options: IdempotencyOptions<IncomingMessage> = {}) {
  return (request: Parsed, response: ServerResponse, next: Next): void => {
    const handle = () => {
      const captured = capture(response)
      next()
      return captured.response.finally(captured.restore)
    }
    guard(locks, options, request, response, handle).then((passes) => passes && next(), next)
  }
}

/** A handler of `node:http` that is run once per key. It gets the body that was read for it. */
export function idempotentHandler(
  locks: Recipes,
  handler: (request: IncomingMessage, response: ServerResponse, body: Buffer) => unknown,
  options: IdempotencyOptions<IncomingMessage> & { maxBodyBytes?: number } = {},
) {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await read(request, options.maxBodyBytes ?? 1024 * 1024)
    if (body === null) {
      response.writeHead(413).end()
      return
    }
    const parsed: Parsed = Object.assign(request, { body })
    const handle = async () => {
      const captured = capture(response)
      try {
        await handler(request, response, body)
        return await captured.response
      } finally {
        captured.restore()
      }
    }
    if (await guard(locks, options, parsed, response, handle)) await handler(request, response, body)
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error) => fail(response, error))
  }
}

/** Nobody awaits a handler of `node:http`: what it throws would end the process. */
function fail(response: ServerResponse, error: unknown): void {
  process.emitWarning(`a handler failed: ${String(error)}`, 'HoldfastWarning')
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
}

/** Answers the request, or says that it passes. */
async function guard(
  locks: Recipes,
  options: IdempotencyOptions<IncomingMessage>,
  request: Parsed,
  response: ServerResponse,
  handle: () => ReturnType<Parameters<typeof decide>[3]>,
): Promise<boolean> {
  const header = request.headers['idempotency-key']
  const asked = {
    request,
    method: request.method ?? 'GET',
    path: request.originalUrl ?? request.url ?? '/',
    header: Array.isArray(header) ? header.join(', ') : header,
    body: bodyOf(request.body),
  }
  const verdict = await decide(locks, options, asked, handle)
  if (verdict.kind === 'pass') return true
  if (verdict.kind === 'respond') send(response, verdict.response, verdict.replayed)
  else {
    response.statusCode = verdict.status
    response.setHeader('Content-Type', 'application/problem+json')
    response.end(problemText(verdict))
  }
  return false
}

async function read(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
