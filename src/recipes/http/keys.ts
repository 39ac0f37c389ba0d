import { createHash } from 'node:crypto'
import { show } from '../../core/durations.ts'
import { ConflictError, InvalidArgumentError, LeaseLostError } from '../../errors.ts'
import type { Recipes } from '../index.ts'
import type { OnceOptions } from '../once.ts'

export interface IdempotencyOptions<Request = unknown> extends Pick<OnceOptions, 'ttl' | 'lease'> {
  /** Methods that are guarded: POST and PATCH by default. The others pass. */
  methods?: readonly string[]
  /** Whether a guarded request without the header is refused with 400: false by default, it passes. */
  required?: boolean
  /** Who the key belongs to: two users may choose the same key. By default all share one space. */
  scope?: (request: Request) => string
  /** Larger responses are sent but not kept: 1 MiB by default, as JSON. */
  maxResponseBytes?: number
}

/** A response as it is kept. */
export interface KeptResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** In base64. */
  readonly body: string
}

/** What the middleware does with a request. */
export type Verdict =
  | { readonly kind: 'pass' }
  | {
      readonly kind: 'problem'
      readonly status: 400 | 409 | 422
      readonly title: string
      readonly detail: string
    }
  | { readonly kind: 'respond'; readonly response: KeptResponse; readonly replayed: boolean }

export interface Asked<Request> {
  readonly request: Request
  readonly method: string
  readonly path: string
  readonly header: string | undefined
  readonly body: Uint8Array | string
}

interface Kept {
  readonly print: string
  readonly response: KeptResponse
}

/** A response that says that the server failed is no result: the same key may try again. */
class NotKept extends Error {
  readonly response: KeptResponse

  constructor(response: KeptResponse) {
    super('the response is not kept')
    this.response = response
  }
}

const LONGEST_KEY_LETTERS = 255

/** The `Idempotency-Key` header, as the IETF draft describes it, over `once`. */
export async function decide<Request>(
  locks: Recipes,
  options: IdempotencyOptions<Request>,
  asked: Asked<Request>,
  handle: () => Promise<KeptResponse>,
): Promise<Verdict> {
  const {
    methods = ['POST', 'PATCH'],
    required = false,
    maxResponseBytes = 1024 * 1024,
    ttl,
    lease,
  } = options
  if (!methods.includes(asked.method)) return { kind: 'pass' }
  if (asked.header === undefined) {
    if (!required) return { kind: 'pass' }
    return problem(400, 'Idempotency-Key is missing', 'This operation needs an Idempotency-Key header.')
  }
  const key = keyOf(asked.header)
  if (key === null) {
    const detail = `The key must be a quoted or plain text of 1 to ${LONGEST_KEY_LETTERS} letters, not ${show(asked.header)}.`
    return problem(400, 'Idempotency-Key is not valid', detail)
  }
  const print = fingerprint(asked)
  let replayed = true
  const run = async (): Promise<Kept> => {
    replayed = false
    const response = await handle()
    if (response.status >= 500 || response.body.length > maxResponseBytes) throw new NotKept(response)
    return { print, response }
  }
  const id = `http:${createHash('sha256')
    .update(JSON.stringify([options.scope?.(asked.request) ?? '', key]))
    .digest('base64url')}`
  const kept = {
    onDuplicate: 'replay',
    maxResultBytes: maxResponseBytes + 65_536,
    ...(ttl === undefined ? {} : { ttl }),
    ...(lease === undefined ? {} : { lease }),
  } as const
  try {
    const { print: first, response } = await locks.once(id, kept, run)
    if (first === print) return { kind: 'respond', response, replayed }
    return problem(422, 'Idempotency-Key is already used', 'The key came before with another request.')
  } catch (error) {
    if (error instanceof NotKept) return { kind: 'respond', response: error.response, replayed: false }
    if (error instanceof LeaseLostError && error.result !== undefined)
      return { kind: 'respond', response: (error.result as Kept).response, replayed: false }
    if (error instanceof ConflictError)
      return problem(
        409,
        'A request is outstanding for this Idempotency-Key',
        'The first request is still in progress.',
      )
    throw error
  }
}

/** The body of a problem as `application/problem+json`. */
export function problemText({ title, detail, status }: Verdict & { kind: 'problem' }): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail })
}

/** The draft says a structured text, in quotes; many clients send it without. */
function keyOf(header: string): string | null {
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header) ?? []
  const key = quoted === undefined ? header : quoted.replace(/\\(["\\])/g, '$1')
  return key.length >= 1 && key.length <= LONGEST_KEY_LETTERS && /^[\x20-\x7e]+$/.test(key) ? key : null
}

function fingerprint<Request>({ method, path, body }: Asked<Request>): string {
  return createHash('sha256').update(`${method} ${path}\n`).update(body).digest('base64url')
}

function problem(status: 400 | 409 | 422, title: string, detail: string): Verdict {
  return { kind: 'problem', status, title, detail }
}

/** What a framework made of the body; an empty one when it did not read it. */
export function bodyOf(body: unknown): Uint8Array | string {
  if (body === undefined || body === null) return ''
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw new InvalidArgumentError('body', `cannot be compared: ${String(error)}`)
  }
}
