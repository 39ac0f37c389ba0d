import { innermostOf, StoreError, whyOf } from '../../errors.ts'
import type { NodeConnection } from './node-connection.ts'
import type { Round } from './round.ts'

/** Too few nodes answered: the error names those that did not, each with its cause. */
export function outage(round: Round, connections: readonly NodeConnection[]): StoreError {
  const causes = round.errors.flatMap((error, place) =>
    error === undefined ? [] : [nodeError((connections[place] as NodeConnection).node.name, error)],
  )
  return outageOf(connections.length - round.failed, round.needed, connections.length, causes)
}

export function outageOf(
  heard: number,
  needed: number,
  nodes: number,
  causes: readonly StoreError[],
): StoreError {
  const names = causes.map(({ message }) => message).join('; ')
  const message = `${heard} of ${nodes} nodes answered, ${needed} are needed: ${names}`
  return new StoreError(message, { cause: new AggregateError(causes, message) })
}

export function nodeError(name: string, error: unknown): StoreError {
  const cause = innermostOf(error)
  return new StoreError(`${name}: ${whyOf(cause)}`, { cause })
}
