import type { ServerResponse } from 'node:http'
import { nodeRuntime } from '../../core/runtime.ts'
import { type Ended, type KeptResponse, keptHeaders } from './keys.ts'

/** A response that is held back until it has been stored. */
export interface Captured {
  /** Resolves when the handler has ended its response, or was given up. */
  readonly ended: Promise<Ended>
  /** The handler has ended its response, which then counts. */
  readonly hasEnded: () => boolean
  /** Resolves when the connection is closed before that. */
  readonly gone: Promise<void>
  /** From now on the handler has this long to end its response. */
  giveUpAfter(delayMs: number): void
  /** Restores the response's own methods. */
  restore(): void
}

type Callback = (error?: Error) => void

/**
 * Captures a handler's output and sends nothing. To the handler, the response behaves as if it were sent at once to a client
 * that stays: it ends, finishes and closes. A client that disconnects ends nothing, since the work continues;
 * a handler that destroys its response gets no other.
 */
export function capture(response: ServerResponse): Captured {
  const { emit } = response
  const chunks: Buffer[] = []
  let state: 'open' | 'begun' | 'ended' | 'finished' = 'open'
  let isGone = response.destroyed
  let settle: (ended: Ended) => void = () => {}
  let leave: () => void = () => {}
  const ended = new Promise<Ended>((resolve) => {
    settle = resolve
  })
  const gone = new Promise<void>((resolve) => {
    leave = resolve
  })
  if (isGone) leave()

  const earlier = new Set([...response.rawListeners('finish'), ...response.rawListeners('close')])
  /** Earlier listeners wait for the real response; the handler's listeners are called once, for this one. */
  const tell = (event: 'finish' | 'close'): void => {
    for (const listener of response.rawListeners(event)) {
      if (earlier.has(listener)) continue
      response.removeListener(event, listener as () => void)
      listener.call(response)
    }
  }
  const begin = (): void => {
    // Called by name, so that middleware that patched `writeHead` earlier still adds its headers.
    if (state === 'open') response.writeHead(response.statusCode)
  }
  const keep = (chunk: unknown, encoding: unknown): void => {
    begin()
    chunks.push(
      Buffer.from(chunk as string, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8'),
    )
  }
  const finish = (): void => {
    state = 'finished'
    try {
      tell('finish')
      tell('close')
    } finally {
      settle({
        status: response.statusCode,
        headers: keptHeaders(Object.entries(response.getHeaders())),
        body: Buffer.concat(chunks).toString('base64'),
      })
    }
  }

  const hasEnded = () => state === 'ended' || state === 'finished'
  const giveUp = (notKept: string): void => {
    restore()
    // Node emits `close` once, and did so before the handler could listen.
    if (isGone) process.nextTick(tell, 'close')
    settle({ notKept })
  }

  const restore = shadow(
    response,
    {
      destroy: (error?: Error) => {
        if (hasEnded()) return response
        giveUp('its handler destroyed the response')
        return response.destroy(error)
      },
      flushHeaders: begin,
      writeHead: (status: number, ...rest: unknown[]) => {
        if (state !== 'open')
          throw Object.assign(new Error('the headers were written before'), { code: 'ERR_HTTP_HEADERS_SENT' })
        writeHead(response, status, rest)
        state = 'begun'
        return response
      },
      write: (chunk: unknown, ...rest: unknown[]) => {
        const callback = callbackOf(rest)
        const isOpen = !hasEnded()
        if (isOpen) keep(chunk, rest[0])
        if (callback !== undefined)
          process.nextTick(callback, isOpen ? undefined : new Error('write after end'))
        return isOpen
      },
      end: (...args: unknown[]) => {
        const callback = callbackOf(args)
        if (hasEnded()) {
          if (callback !== undefined) process.nextTick(callback, new Error('write after end'))
          return response
        }
        const [chunk, encoding] = args
        if (chunk !== undefined && chunk !== null && chunk !== callback) keep(chunk, encoding)
        else begin()
        state = 'ended'
        if (callback !== undefined) response.once('finish', callback)
        process.nextTick(finish)
        return response
      },
      emit: (event: string, ...args: unknown[]) => {
        if (event !== 'close') return emit.call(response, event, ...args)
        isGone = true
        leave()
        const listeners = response.rawListeners(event).filter((listener) => earlier.has(listener))
        for (const listener of listeners) listener.apply(response, args)
        return listeners.length > 0
      },
    },
    {
      headersSent: () => state !== 'open',
      // Node and middleware read these to see whether headers were sent.
      _header: () => (state === 'open' ? null : 'held back'),
      finished: hasEnded,
      writableEnded: hasEnded,
      writableFinished: () => state === 'finished',
      destroyed: () => false,
      _closed: () => false,
    },
  )
  return {
    ended,
    gone,
    hasEnded,
    restore,
    giveUpAfter(delayMs) {
      const notKept = `its client was gone, and the handler had not ended its response ${delayMs} ms later`
      const timer = nodeRuntime.setTimer(() => giveUp(notKept), delayMs, true)
      void ended.then(() => timer.clear())
    },
  }
}

/** Sends a stored response, if the client is still connected. */
export function send(response: ServerResponse, kept: KeptResponse, replayed: boolean): void {
  if (response.destroyed) return
  response.statusCode = kept.status
  for (const [name, value] of Object.entries(kept.headers)) response.setHeader(name, value as string)
  if (replayed) response.setHeader('Idempotency-Replayed', 'true')
  response.end(Buffer.from(kept.body, 'base64'))
}

/** Node's arguments: a message, then headers as an object or as a list of names and values, which may repeat. */
function writeHead(response: ServerResponse, status: number, rest: readonly unknown[]): void {
  if (!Number.isInteger(status) || status < 100 || status > 999)
    throw new RangeError(`Invalid status code: ${status}`)
  response.statusCode = status
  const [message] = rest
  if (typeof message === 'string') response.statusMessage = message
  const headers = rest.find((arg) => typeof arg === 'object' && arg !== null)
  if (!Array.isArray(headers)) {
    for (const [name, value] of Object.entries((headers ?? {}) as Record<string, string>))
      response.setHeader(name, value)
    return
  }
  const flat = Array.isArray(headers[0]) ? headers.flat() : headers
  const pairs = Array.from({ length: flat.length / 2 }, (_, pair) => [flat[2 * pair], flat[2 * pair + 1]])
  for (const [name] of pairs) response.removeHeader(name)
  for (const [name, value] of pairs) response.appendHeader(name, value)
}

function callbackOf(args: readonly unknown[]): Callback | undefined {
  return args.find((arg) => typeof arg === 'function') as Callback | undefined
}

/**
 * Shadows properties of an object and returns a function that restores them. A value written to a shadowed property in the
 * meantime is kept.
 */
export function shadow(
  target: object,
  methods: Readonly<Record<string, unknown>>,
  readings: Readonly<Record<string, () => unknown>>,
): () => void {
  const before = [...Object.keys(methods), ...Object.keys(readings)].map(
    (name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const,
  )
  const writes = new Map<string, unknown>()
  for (const [name, value] of Object.entries(methods))
    Object.defineProperty(target, name, { configurable: true, writable: true, enumerable: true, value })
  for (const [name, get] of Object.entries(readings))
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: true,
      get,
      set: (value) => writes.set(name, value),
    })
  return () => {
    for (const [name, descriptor] of before.splice(0)) {
      Reflect.deleteProperty(target, name)
      if (descriptor !== undefined) Object.defineProperty(target, name, descriptor)
      if (writes.has(name)) Reflect.set(target, name, writes.get(name))
    }
  }
}
