import { InvalidArgumentError } from '../../../errors.ts'

/** How many connections of its own a store takes for its statements. Those that no statement needs for a while are closed. */
const CONNECTIONS = 2
const MOST = 100

export function connectionsOf(parameter: string | undefined): number {
  if (parameter === undefined) return CONNECTIONS
  const count = Number(parameter)
  if (!/^\d+$/.test(parameter) || count < 1 || count > MOST)
    throw new InvalidArgumentError('url', `must give as connections a number from 1 to ${MOST}`)
  return count
}
