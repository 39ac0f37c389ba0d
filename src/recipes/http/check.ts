import {
  checkFlag,
  checkFunction,
  checkLocks,
  checkOptions,
  checkWholeNumber,
  type NamesOf,
} from '../../core/check.ts'
import { type Duration, durationMs, show } from '../../core/durations.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { Recipes } from '../index.ts'
import { keepMs } from '../kit.ts'
import type { IdempotencyOptions } from './keys.ts'

export interface AbandonOptions {
  /**
   * The time limit of a handler whose client has gone and whose end is unknown: 10 minutes by default. After that its
   * request counts as done without a response, and does not run again.
   */
  abandonAfter?: Duration
}

export function abandonMsOf({ abandonAfter = '10m' }: AbandonOptions): number {
  return durationMs('abandonAfter', abandonAfter, { minMs: 0, maxMs: 86_400_000 })
}

type Options = IdempotencyOptions<never>

export const IDEMPOTENCY: NamesOf<Options> = {
  ttl: true,
  lease: true,
  methods: true,
  required: true,
  scope: true,
  maxResponseBytes: true,
}
/** Options of a middleware whose handler may outlive its client. */
export const FOLLOWED: NamesOf<Options & AbandonOptions> = { ...IDEMPOTENCY, abandonAfter: true }
const HANDLER: NamesOf<Options & AbandonOptions & { maxBodyBytes?: number }> = {
  ...FOLLOWED,
  maxBodyBytes: true,
}
const LARGEST_BYTES = 15 * 1024 * 1024

/** Checks when the middleware is made; otherwise a mistake would fail at the first request. */
export function checkMiddleware(locks: Recipes, options: Options, known: NamesOf<Options>): void {
  checkLocks(locks, 'once')
  checkOptions('options', options, known)
  const { methods = [], scope, required, maxResponseBytes = 2, ttl, lease } = options
  if (!Array.isArray(methods) || !methods.every((method) => typeof method === 'string'))
    throw new InvalidArgumentError('methods', `must be a list such as ['POST'], not ${show(methods)}`)
  if (scope !== undefined) checkFunction('scope', scope)
  if (ttl !== undefined) keepMs('ttl', ttl)
  if (lease !== undefined) keepMs('lease', lease)
  checkFlag('required', required, false)
  checkWholeNumber('maxResponseBytes', maxResponseBytes, 2, LARGEST_BYTES)
}

/** The same for a handler, which reads the body itself. */
export function checkHandler(
  locks: Recipes,
  handler: unknown,
  options: Options & { maxBodyBytes?: number },
): void {
  checkMiddleware(locks, options, HANDLER)
  checkFunction('handler', handler)
  checkWholeNumber('maxBodyBytes', options.maxBodyBytes ?? 0, 0, Number.MAX_SAFE_INTEGER)
}
