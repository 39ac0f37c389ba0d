import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import { createLocks, type Locks } from 'holdfast'
import { idempotencyKey, idempotentHandler } from 'holdfast/http'
import { onTestFinished } from 'vitest'
import { listen } from './shop.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

export function open(): Locks {
  const locks = createLocks()
  onTestFinished(() => locks.close())
  return locks
}

/** Both give the handler the response itself, watched. */
export const WATCHED: Record<string, (handler: Handler) => Promise<string>> = {
  'node:http': (handler) => listen(idempotentHandler(open(), handler)),
  express: (handler) => {
    const app = express()
    app.use(idempotencyKey(open()))
    app.post('/', async (request, response) => void (await handler(request, response)))
    return listen(app)
  },
}

export const post = (url: string, signal?: AbortSignal) =>
  fetch(url, { method: 'POST', headers: { 'Idempotency-Key': 'k' }, ...(signal && { signal }) })
