import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { KeptResponse } from './keys.ts'

/** Headers of one connection or of one moment: they are made anew for a response that is sent again. */
const OWN = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date'])

/** Holds a response back until it has been kept. */
export interface Captured {
  /** Resolves when the handler has ended its response. */
  readonly response: Promise<KeptResponse>
  /** Gives the methods back that were watched. */
  restore(): void
}

/** Watches what a handler writes, and lets nothing of it through. */
export function capture(response: ServerResponse): Captured {
  const { write, end, writeHead, flushHeaders } = response
  const chunks: Buffer[] = []
  const keep = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string')
      chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const called = (...args: unknown[]): void => {
    const callback = args.find((arg) => typeof arg === 'function') as (() => void) | undefined
    if (callback !== undefined) process.nextTick(callback)
  }
  const restore = () => Object.assign(response, { write, end, writeHead, flushHeaders })
  const done = new Promise<KeptResponse>((resolve, reject) => {
    response.once('close', () => reject(new Error('the connection was closed before the response was ended')))
    Object.assign(response, {
      flushHeaders: () => {},
      writeHead: (status: number, ...rest: unknown[]) => {
        response.statusCode = status
        const headers = rest.find((arg) => typeof arg === 'object' && arg !== null)
        for (const [name, value] of headersOf(headers)) response.setHeader(name, value)
        return response
      },
      write: (chunk: unknown, encoding?: unknown, callback?: unknown) => {
        keep(chunk, encoding)
        called(encoding, callback)
        return true
      },
      end: (chunk?: unknown, encoding?: unknown, callback?: unknown) => {
        keep(chunk, encoding)
        called(chunk, encoding, callback)
        resolve({
          status: response.statusCode,
          headers: kept(response.getHeaders()),
          body: Buffer.concat(chunks).toString('base64'),
        })
        return response
      },
    })
  })
  // Looked at only by those who wait for it; a connection that closes must not end the process.
  done.catch(() => undefined)
  return { response: done, restore }
}

/** Sends a response that was kept. */
export function send(response: ServerResponse, kept: KeptResponse, replayed: boolean): void {
  response.statusCode = kept.status
  for (const [name, value] of Object.entries(kept.headers)) response.setHeader(name, value as string)
  if (replayed) response.setHeader('Idempotency-Replayed', 'true')
  response.end(Buffer.from(kept.body, 'base64'))
}

function kept(headers: OutgoingHttpHeaders): KeptResponse['headers'] {
  const entries = Object.entries(headers).filter(([name]) => !OWN.has(name.toLowerCase()))
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)]),
  )
}

function headersOf(headers: unknown): [string, string | string[]][] {
  if (!Array.isArray(headers)) return Object.entries((headers ?? {}) as Record<string, string>)
  return Array.from({ length: headers.length / 2 }, (_, pair) => [headers[2 * pair], headers[2 * pair + 1]])
}
