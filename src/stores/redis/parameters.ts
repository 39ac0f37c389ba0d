import { show } from '../../core/durations.ts'
import { InvalidArgumentError } from '../../errors.ts'
import type { RedisOptions } from './options.ts'

/** A URL of Redis without the parameters that are ours, which a client library would not understand. */
export interface Parameters {
  readonly url: string
  readonly options: RedisOptions
}

/** Takes `?format=plain&replicas=1&replicasTimeout=500ms&check=off` out of a URL; what else stands there is left to the client library. */
export function parametersOf(url: string): Parameters {
  const at = url.indexOf('?')
  if (at < 0) return { url, options: {} }
  const rest = new URLSearchParams(url.slice(at + 1))
  const options: RedisOptions = {}
  const take = (name: string, use: (value: string) => void) => {
    const value = rest.get(name)
    if (value !== null) use(value)
    rest.delete(name)
  }
  take('format', (value) => {
    options.format = value as 'plain'
  })
  take('replicas', (value) => {
    options.replicas = { wait: /^\d+$/.test(value) ? Number(value) : Number.NaN }
  })
  take('replicasTimeout', (timeout) => {
    options.replicas = {
      wait: Number.NaN,
      ...options.replicas,
      timeout: /^\d+$/.test(timeout) ? Number(timeout) : timeout,
    }
  })
  take('check', (value) => {
    if (value !== 'on' && value !== 'off')
      throw new InvalidArgumentError('check', `must be on or off, not ${show(value)}`)
    options.check = value === 'on'
  })
  return { url: url.slice(0, at) + (rest.size === 0 ? '' : `?${rest}`), options }
}
