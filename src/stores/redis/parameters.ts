import { show } from '../../core/durations.ts'
import { parametersOf } from '../../core/parameters.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { RedisOptions } from './options.ts'

const OURS = { format: true, replicas: true, replicasTimeout: true, check: true } as const

/** A URL of Redis with its parameters read. */
export interface Parameters<N extends string> {
  /** Without any parameter. */
  readonly url: string
  readonly options: RedisOptions
  readonly others: Partial<Record<N, string>>
}

/** Reads `?format=plain&replicas=1&replicasTimeout=500ms&check=off`, and the parameters that this kind of URL has besides. */
export function redisParametersOf<N extends string>(
  url: string,
  besides: Readonly<Record<N, true>>,
): Parameters<N> {
  const at = url.indexOf('?')
  if (at < 0) return { url, options: {}, others: {} }
  const known: Record<string, true> = { ...OURS, ...besides }
  const given: Partial<Record<string, string>> = parametersOf(url.slice(at + 1), known)
  const { format, replicas, replicasTimeout, check, ...others } = given
  if (check !== undefined && check !== 'on' && check !== 'off')
    throw new InvalidArgumentError('check', `must be on or off, not ${show(check)}`)
  const options: RedisOptions = {
    ...(format !== undefined && { format: format as 'plain' }),
    ...((replicas ?? replicasTimeout) !== undefined && { replicas: replicasOf(replicas, replicasTimeout) }),
    ...(check !== undefined && { check: check === 'on' }),
  }
  return { url: url.slice(0, at), options, others: others as Partial<Record<N, string>> }
}

function replicasOf(wait = '', timeout?: string): NonNullable<RedisOptions['replicas']> {
  return {
    wait: /^\d+$/.test(wait) ? Number(wait) : Number.NaN,
    ...(timeout !== undefined && { timeout: /^\d+$/.test(timeout) ? Number(timeout) : timeout }),
  }
}
