import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Recipes } from '../index.ts'
import { capture, send } from './capture.ts'
import { type AbandonOptions, abandonMsOf, checkHandler, checkMiddleware, FOLLOWED } from './check.ts'
import { bodyOf, decide, type Ended, hasFailed, type IdempotencyOptions, problemText } from './keys.ts'

type Parsed = IncomingMessage & { body?: unknown; originalUrl?: string }
type Next = (error?: unknown) => void

/** Middleware for Express and similar frameworks. Put it after the body parser, so that it can compare bodies. */
export function idempotencyKey(
  locks: Recipes,
  options: IdempotencyOptions<IncomingMessage> & AbandonOptions = {},
) {
  checkMiddleware(locks, options, FOLLOWED)
  const abandonMs = abandonMsOf(options)
  return (request: Parsed, response: ServerResponse, next: Next): void => {
    const handle = async (): Promise<Ended> => {
      const captured = capture(response)
      void captured.gone.then(() => captured.giveUpAfter(abandonMs))
      try {
        next()
        return await captured.ended
      } finally {
        captured.restore()
      }
    }
    guard(locks, options, request, response, handle).then((passes) => passes && next(), next)
  }
}

/** A handler of `node:http` that runs once per key. It gets the body that was read for it. */
export function idempotentHandler(
  locks: Recipes,
  handler: (request: IncomingMessage, response: ServerResponse, body: Buffer) => unknown,
  options: IdempotencyOptions<IncomingMessage> & AbandonOptions & { maxBodyBytes?: number } = {},
) {
  checkHandler(locks, handler, options)
  const abandonMs = abandonMsOf(options)
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await read(request, options.maxBodyBytes ?? 1024 * 1024)
    if (body === null) {
      response.writeHead(413).end()
      return
    }
    const parsed: Parsed = Object.assign(request, { body })
    const handle = () => captureHandler(response, abandonMs, async () => handler(request, response, body))
    if (await guard(locks, options, parsed, response, handle)) await handler(request, response, body)
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    serve(request, response).catch((error) => fail(response, error))
  }
}

/** The response of a handler whose end is known; an ended response counts, whatever the handler does afterwards. */
async function captureHandler(
  response: ServerResponse,
  abandonMs: number,
  handler: () => Promise<unknown>,
): Promise<Ended> {
  const captured = capture(response)
  try {
    const work = handler()
    void Promise.allSettled([work, captured.gone]).then(() => captured.giveUpAfter(abandonMs))
    const settled = work.catch((error) => {
      if (!captured.hasEnded()) throw error
      warn(error)
    })
    const ended = await Promise.race([captured.ended, settled.then(() => captured.ended)])
    // A failure frees the key, so it counts only after the handler's end. A handler that destroyed its response may throw.
    if (hasFailed(ended) || 'notKept' in ended) await settled
    return ended
  } finally {
    captured.restore()
  }
}

/** Node does not await a handler of `node:http`: its rejection would end the process. */
function fail(response: ServerResponse, error: unknown): void {
  warn(error)
  if (response.headersSent) response.destroy()
  else response.writeHead(500).end()
}

function warn(error: unknown): void {
  process.emitWarning(`a handler failed: ${String(error)}`, 'HoldfastWarning')
}

/** Answers the request, or returns that it passes. */
async function guard(
  locks: Recipes,
  options: IdempotencyOptions<IncomingMessage>,
  request: Parsed,
  response: ServerResponse,
  handle: () => Promise<Ended>,
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
  else if (verdict.kind === 'problem') {
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
