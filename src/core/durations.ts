import { InvalidArgumentError } from '../errors.ts'

/** Milliseconds as a number, or a text such as `'250ms'`, `'10s'`, `'5m'`, `'1h'`. */
export type Duration = number | string

/** The default time limit of a call to a store. */
export const CALL_TIMEOUT_MS = 5000

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

export interface DurationLimits {
  readonly minMs: number
  readonly maxMs: number
  readonly infinity?: boolean
}

/** Milliseconds of a duration, or an error that names the argument, the value and the limit. */
export function durationMs(argument: string, value: Duration, limits: DurationLimits): number {
  const ms = typeof value === 'string' ? parse(argument, value) : value
  if (ms === Number.POSITIVE_INFINITY && limits.infinity === true) return ms
  if (typeof ms !== 'number' || !Number.isSafeInteger(ms)) {
    throw new InvalidArgumentError(
      argument,
      `must be a whole number of milliseconds or a text such as '10s', not ${show(value)}`,
    )
  }
  if (ms < limits.minMs || ms > limits.maxMs || Object.is(ms, -0)) {
    throw new InvalidArgumentError(
      argument,
      `must be from ${limits.minMs} to ${limits.maxMs} ms, not ${show(value)}`,
    )
  }
  return ms
}

/** A value in the form that messages show. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value)
  if (Object.is(value, -0)) return '-0'
  if (Array.isArray(value)) return 'a list'
  // String(value) would be its source.
  if (typeof value === 'function') return 'a function'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

function parse(argument: string, text: string): number {
  const parts = /^(\d{1,16}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(text)
  const unit = UNITS[parts?.[2] ?? '']
  if (parts === null || unit === undefined) {
    throw new InvalidArgumentError(
      argument,
      `must be a number with a unit (ms, s, m, h) such as '250ms' or '10s', not ${show(text)}`,
    )
  }
  return Number(parts[1]) * unit
}
