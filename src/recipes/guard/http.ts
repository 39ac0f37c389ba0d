import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkFlag, checkFunction, checkOptions, hasMethods } from '../../core/check.ts'
import { InvalidArgumentError, StaleTokenError } from '../../errors.ts'
import { type Guard, HIGHEST_TOKEN } from './memory.ts'

/** A guard that may be asynchronous, like the one of Redis. */
export interface SoonGuard {
  check(resource: string, token: bigint): void | Promise<void>
}

export interface FenceOptions<Request> {
  /** The resource of the token: the path by default. */
  resource?: (request: Request) => string
  /** Refuses a request without a token with 428: true by default. */
  required?: boolean
}

const OPTIONS = { resource: true, required: true } as const

type Next = (error?: unknown) => void

/**
 * Middleware for `node:http`, Express and similar frameworks that reads `Fencing-Token`: 400 if it is no token, 428 if it
 * is missing, 412 if a higher one was seen.
 */
export function fencingToken<Request extends IncomingMessage>(
  guard: Guard | SoonGuard,
  options: FenceOptions<Request> = {},
) {
  if (!hasMethods(guard, ['check'])) throw new InvalidArgumentError('guard', 'must have a method check')
  const { resource = pathOf } = checkOptions('options', options, OPTIONS)
  const required = checkFlag('required', options.required, true)
  checkFunction('resource', resource)
  return (request: Request, response: ServerResponse, next: Next): void => {
    const header = request.headers['fencing-token']
    if (header === undefined) {
      if (required) refuse(response, 428, 'Fencing-Token is missing')
      else next()
      return
    }
    const token = tokenOfHeader(header)
    if (token === null) {
      refuse(response, 400, `Fencing-Token must be one whole number from 0 to ${HIGHEST_TOKEN}`)
      return
    }
    Promise.resolve()
      .then(() => guard.check(resource(request), token))
      .then(
        () => next(),
        (error) => (error instanceof StaleTokenError ? refuse(response, 412, error.message) : next(error)),
      )
  }
}

/** Null unless it is one token: Node joins repeated headers with commas. */
function tokenOfHeader(header: string | string[]): bigint | null {
  const token = typeof header === 'string' && /^\d{1,19}$/.test(header) ? BigInt(header) : null
  return token !== null && token <= HIGHEST_TOKEN ? token : null
}

function pathOf(request: IncomingMessage & { originalUrl?: string }): string {
  return (request.originalUrl ?? request.url ?? '/').split('?')[0] as string
}

function refuse(response: ServerResponse, status: number, detail: string): void {
  response.statusCode = status
  response.setHeader('Content-Type', 'application/problem+json')
  response.end(JSON.stringify({ type: 'about:blank', status, detail }))
}
