import { InvalidArgumentError, UnsupportedError } from '../../errors.ts'
import type { Claim, Mode } from '../../model/index.ts'
import type { AcquireOptions, AdoptOptions, LeaseJson } from '../api.ts'
import { checkObject, checkOptions } from '../check.ts'
import { show } from '../durations.ts'
import { ADOPT_OPTIONS } from '../option-names.ts'
import { EXCLUSIVE, permitsOf, SHARED } from '../options.ts'
import type { Traits } from '../store.ts'

/** The serialised form of a lease, which another process may adopt. */
export function leaseJson(key: string, token: bigint | null, claim: Claim): LeaseJson {
  const { id, mode, owner, ttlMs } = claim
  return {
    key,
    id,
    token: token?.toString() ?? null,
    mode: mode.kind,
    ...(mode.kind === 'permits' ? { limit: mode.limit, weight: mode.weight } : {}),
    ...(owner === null ? {} : { owner }),
    ttlMs,
  }
}

/** The mode and options of a request that adopts a lease of another process. */
export function adoptionOf(
  lease: LeaseJson,
  options: AdoptOptions,
  traits: Traits,
): { mode: Mode; options: AcquireOptions } {
  if (!traits.adoption)
    throw new UnsupportedError(`the ${traits.name} store cannot hand a lease to another process`)
  const { key, id, mode, limit = 1, weight = 1, owner, ttlMs } = checkObject('lease', lease)
  for (const [name, value] of Object.entries({ key, id }))
    if (typeof value !== 'string' || value === '')
      throw new InvalidArgumentError(`lease.${name}`, `must be a text, not ${show(value)}`)
  checkOptions('options', options, ADOPT_OPTIONS)
  return {
    mode: modeOf(mode, limit, weight),
    options: { ttl: ttlMs, ...(owner === undefined ? {} : { owner }), ...options },
  }
}

function modeOf(mode: LeaseJson['mode'], limit: number, weight: number): Mode {
  if (mode === 'permits') return permitsOf(limit, weight)
  if (mode === 'exclusive') return EXCLUSIVE
  if (mode === 'shared') return SHARED
  throw new InvalidArgumentError(
    'lease.mode',
    `must be 'exclusive', 'shared' or 'permits', not ${show(mode)}`,
  )
}
