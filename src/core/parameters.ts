import { InvalidArgumentError } from '../errors.ts'
import { unknownName } from './check.ts'

/** A safe name to show: it cannot be a part of a password that was not percent-encoded. */
const PLAIN_NAME = /^\w{1,40}$/

/** The parameters of a URL, each known and given once. Values may be secret: errors name the parameter only. */
export function parametersOf<N extends string>(
  query: string,
  known: Readonly<Record<N, true>>,
): Partial<Record<N, string>> {
  const found: Partial<Record<N, string>> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!Object.hasOwn(known, name)) throw refused(name, unknownName('parameter', name, known))
    if (Object.hasOwn(found, name)) throw refused(name, `gives the parameter ${name} twice`)
    found[name as N] = value
  }
  return found
}

function refused(name: string, problem: string): InvalidArgumentError {
  return new InvalidArgumentError('url', PLAIN_NAME.test(name) ? problem : 'has an unknown parameter')
}
