import { checkOptions, checkText, checkWholeNumber } from '../../core/check.ts'
import { InvalidArgumentError, StaleTokenError } from '../../errors.ts'

/** Remembers the highest token of each resource. */
export interface Guard {
  /** Throws `StaleTokenError` for a token below the highest one seen; the same token is accepted again. */
  check(resource: string, token: bigint | null): void
}

const OPTIONS = { maxResources: true } as const
const MOST_RESOURCES = 100_000
export const HIGHEST_TOKEN = 2n ** 63n - 1n

/** A guard for a resource inside this process. With very many resources, the oldest are forgotten. */
export function memoryGuard(options: { maxResources?: number } = {}): Guard {
  const { maxResources = MOST_RESOURCES } = checkOptions('options', options, OPTIONS)
  checkWholeNumber('maxResources', maxResources, 1, Number.MAX_SAFE_INTEGER)
  const highest = new Map<string, bigint>()
  return {
    check(resource, token) {
      const wanted = checkedToken(token)
      checkText('resource', resource)
      const seen = highest.get(resource)
      if (seen !== undefined && wanted < seen) throw stale(resource, wanted, seen)
      highest.delete(resource)
      highest.set(resource, wanted)
      const [oldest] = highest.keys()
      if (highest.size > maxResources && oldest !== undefined) highest.delete(oldest)
    },
  }
}

/** A token as an argument: a store without ordered tokens has null, which guards nothing. */
export function checkedToken(token: bigint | null): bigint {
  if (typeof token === 'bigint' && token >= 0n && token <= HIGHEST_TOKEN) return token
  throw new InvalidArgumentError('token', `must be a bigint from 0 to 2^63 - 1, not ${String(token)}`)
}

export function stale(resource: string, token: bigint, seen: bigint | string): StaleTokenError {
  return new StaleTokenError(`${resource} has seen token ${seen}; a write with token ${token} comes too late`)
}
