import { InvalidArgumentError, UnsupportedError } from '../errors.ts'
import type { Mode } from '../model/index.ts'
import type { AcquireOptions, LeaseJson } from './api.ts'
import { show } from './durations.ts'
import { permitsOf } from './options.ts'
import type { Traits } from './store.ts'

/** What a lease of another process asks for here. */
export function adoptionOf(
  lease: LeaseJson,
  options: AcquireOptions,
  traits: Traits,
): { mode: Mode; options: AcquireOptions } {
  if (!traits.adoption)
    throw new UnsupportedError(`the ${traits.name} store cannot hand a lease to another process`)
  const { id, mode, limit = 1, weight = 1, owner, ttlMs } = lease
  if (typeof id !== 'string' || id === '')
    throw new InvalidArgumentError('lease.id', `must be a text, not ${show(id)}`)
  return {
    mode: mode === 'permits' ? permitsOf(limit, weight) : { kind: mode },
    options: { ttl: ttlMs, ...(owner === undefined ? {} : { owner }), ...options },
  }
}
