import { checkLocks, hasMethods } from '../core/check.ts'
import { show } from '../core/durations.ts'
import { type EventName, InvalidArgumentError, type LockEvents } from '../index.ts'
import type { Observed } from './collector.ts'

/** A logger: `console` fits, and so do pino and similar ones. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

type Line<N extends EventName> = [
  level: keyof Logger,
  message: string,
  fields: (event: LockEvents[N]) => object,
]

const LINES: { readonly [N in EventName]?: Line<N> } = {
  lost: ['error', 'a lease was lost', ({ key, token, cause, heldMs }) => ({ key, token, cause, heldMs })],
  timeout: ['warn', 'a wait for a lock timed out', ({ key, waitedMs }) => ({ key, waitedMs })],
  renewFailed: ['warn', 'a lease could not be renewed', ({ key, token, error }) => ({ key, token, error })],
  releaseFailed: [
    'warn',
    'the outcome of a release is unknown',
    ({ key, token, error }) => ({ key, token, error }),
  ],
  revoked: ['warn', 'an operator asks to let go of a lock', ({ key, token }) => ({ key, token })],
  storeFailed: [
    'error',
    'a call to the store failed',
    ({ call, claims, error }) => ({ call, claims, error }),
  ],
  stalled: ['warn', 'the event loop stood still', ({ stalledMs, leases }) => ({ stalledMs, leases })],
  warning: ['warn', 'the store warns', ({ code, message }) => ({ code, error: message })],
}

/** An outage makes thousands of events a second: so many of each kind are written, the rest is counted. */
const LINES_PER_SECOND = 10

/** Writes failures to a log, without secrets and within bounds. Returns a function that stops it. */
export function logTo(locks: Pick<Observed, 'on'>, logger: Logger): () => void {
  checkLocks(locks, 'on')
  checkLogger(logger)
  const stops = (Object.keys(LINES) as EventName[]).map((name) => follow(locks, name, logger))
  return () => {
    for (const stop of stops) stop()
  }
}

export function checkLogger(logger: Logger): void {
  if (hasMethods(logger, ['info', 'warn', 'error'])) return
  throw new InvalidArgumentError(
    'logger',
    `must have the methods info, warn and error, not be ${show(logger)}`,
  )
}

function follow<N extends EventName>(locks: Pick<Observed, 'on'>, name: N, logger: Logger): () => void {
  const [level, message, fieldsOf] = LINES[name] as Line<N>
  let second = 0
  let written = 0
  let leftOut = 0
  return locks.on(name, (event) => {
    const now = Math.floor(performance.now() / 1000)
    if (now !== second) {
      second = now
      written = 0
    }
    if (++written > LINES_PER_SECOND) {
      leftOut++
      return
    }
    const fields = { event: name, ...plain(fieldsOf(event)), ...(leftOut > 0 && { leftOut }) }
    leftOut = 0
    logger[level](fields, message)
  })
}

/** The data of an event in a form that every logger can write, without secrets. */
function plain(fields: object): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'number' ? value : redacted(textOf(value))]),
  )
}

function textOf(value: unknown): string {
  return value instanceof Error ? value.message : String(value)
}

const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const SECRET_PARAMETER = /([?&;](?:\w*password|passwd|pwd|pass|secret|token|auth)=)[^\s&;]*/gi

/** A text without the passwords of the URLs in it. */
export function redacted(text: string): string {
  return text.replace(USER_INFO, '$1***@').replace(SECRET_PARAMETER, '$1***')
}
