import { createHash } from 'node:crypto'
import { show } from '../../core/durations.ts'
import { ConflictError, InvalidArgumentError } from '../../errors.ts'
import type { Recipes } from '../index.ts'
import { wholeNumber } from '../kit.ts'
import type { OnceOptions } from '../once.ts'
import { RESULT } from '../results.ts'

export interface IdempotencyOptions<Request = unknown> extends Pick<OnceOptions, 'ttl' | 'lease'> {
  /** The guarded methods: POST and PATCH by default. Others pass. */
  methods?: readonly string[]
  /** Refuses a guarded request without the header with 400: false by default, it passes. */
  required?: boolean
  /** The user that the key belongs to: two users may choose the same key. By default all share one space. */
  scope?: (request: Request) => string
  /** A larger response is sent but not stored, and its request does not run again: 1 MiB of JSON by default. */
  maxResponseBytes?: number
}

/** A stored response. */
export interface KeptResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** In base64. */
  readonly body: string
}

/** The end of a handler: a response, or the reason why there is none that can be sent again. */
export type Ended = KeptResponse | { readonly notKept: string }

/** The middleware's decision on a request; `gone`: the client left, or the handler answered itself. */
export type KeyVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'gone' }
  | {
      readonly kind: 'problem'
      readonly status: 400 | 409 | 422
      readonly title: string
      readonly detail: string
    }
  | { readonly kind: 'respond'; readonly response: KeptResponse; readonly replayed: boolean }

export interface KeyedRequest<Request> {
  readonly request: Request
  readonly method: string
  readonly path: string
  readonly header: string | undefined
  readonly body: Uint8Array | string
}

type Kept = { readonly print: string } & ({ readonly response: KeptResponse } | { readonly notKept: string })

/** Headers of one connection or one moment: a replayed response gets new ones. */
const OWN_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date'])
const LARGEST_RESPONSE_BYTES = 16_000_000
/** The record that is kept beside the response. */
const FRAME_BYTES = 1024
const LONGEST_KEY_LETTERS = 255

/** The `Idempotency-Key` header of the IETF draft, over `once`. */
export async function decide<Request>(
  locks: Recipes,
  options: IdempotencyOptions<Request>,
  asked: KeyedRequest<Request>,
  handle: () => Promise<Ended>,
): Promise<KeyVerdict> {
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
  wholeNumber('maxResponseBytes', maxResponseBytes, 0, LARGEST_RESPONSE_BYTES)
  const print = fingerprint(asked)
  let isOurs = false
  let ended: Ended | null = null
  const run = async (): Promise<Kept> => {
    isOurs = true
    ended = await handle()
    // The handler reported that nothing happened, as if it had thrown: the same key may try again.
    if (hasFailed(ended)) throw new Error('the handler failed')
    return { print, ...keepable(ended, maxResponseBytes) }
  }
  const id = `http:${createHash('sha256')
    .update(JSON.stringify([options.scope?.(asked.request) ?? '', key]))
    .digest('base64url')}`
  const kept = {
    onDuplicate: 'replay',
    maxResultBytes: maxResponseBytes + FRAME_BYTES,
    ...(ttl === undefined ? {} : { ttl }),
    ...(lease === undefined ? {} : { lease }),
  } as const
  try {
    const first = await locks.once(id, kept, run)
    if (ended === null) return replay(first, print)
  } catch (error) {
    // A `ConflictError` of the handler itself is an error like any other.
    if (error instanceof ConflictError && !isOurs)
      return problem(
        409,
        'A request is outstanding for this Idempotency-Key',
        'The first request is still in progress.',
      )
    if (error instanceof InvalidArgumentError && error.argument === RESULT && !isOurs)
      return notKept('the store refused its response')
    if (ended === null) throw error
  }
  return answerOf(ended)
}

/** True if the same key may try again. */
export function hasFailed(ended: Ended): boolean {
  return 'status' in ended && ended.status >= 500
}

function answerOf(ended: Ended): KeyVerdict {
  return 'notKept' in ended ? { kind: 'gone' } : { kind: 'respond', response: ended, replayed: false }
}

function replay(first: Kept, print: string): KeyVerdict {
  if (first.print !== print)
    return problem(422, 'Idempotency-Key is already used', 'The key came before with another request.')
  if ('response' in first) return { kind: 'respond', response: first.response, replayed: true }
  return notKept(first.notKept)
}

function notKept(why: string): KeyVerdict {
  const detail = `The first request was run, and is not run again, but ${why}.`
  return problem(422, 'The response for this Idempotency-Key was not kept', detail)
}

function keepable(
  ended: Ended,
  maxBytes: number,
): { readonly response: KeptResponse } | { readonly notKept: string } {
  if ('notKept' in ended) return ended
  const bytes = Buffer.byteLength(JSON.stringify(ended))
  if (bytes <= maxBytes) return { response: ended }
  return {
    notKept: `its response with status ${ended.status} has ${bytes} bytes, more than the ${maxBytes} that are kept`,
  }
}

/** The headers of a replayed response; a list keeps its members apart, as cookies need it. */
export function keptHeaders(headers: Iterable<readonly [string, unknown]>): KeptResponse['headers'] {
  return Object.fromEntries(
    Array.from(headers)
      .filter(([name, value]) => value !== undefined && !OWN_HEADERS.has(name.toLowerCase()))
      .map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  )
}

/** The body of a problem as `application/problem+json`. */
export function problemText({ title, detail, status }: KeyVerdict & { kind: 'problem' }): string {
  return JSON.stringify({ type: 'about:blank', title, status, detail })
}

/** The draft demands a quoted string; many clients send it without quotes. */
function keyOf(header: string): string | null {
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(header) ?? []
  const key = quoted === undefined ? header : quoted.replace(/\\(["\\])/g, '$1')
  return key.length >= 1 && key.length <= LONGEST_KEY_LETTERS && /^[\x20-\x7e]+$/.test(key) ? key : null
}

function fingerprint<Request>({ method, path, body }: KeyedRequest<Request>): string {
  return createHash('sha256').update(`${method} ${path}\n`).update(body).digest('base64url')
}

function problem(status: 400 | 409 | 422, title: string, detail: string): KeyVerdict {
  return { kind: 'problem', status, title, detail }
}

/** The body as the framework parsed it; empty when it did not read it. */
export function bodyOf(body: unknown): Uint8Array | string {
  if (body === undefined || body === null) return ''
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw new InvalidArgumentError('body', `cannot be compared: ${String(error)}`)
  }
}
