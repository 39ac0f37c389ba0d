import { innermostOf, StoreError, whyOf } from '../../errors.ts'
import type { Lane } from './lane.ts'
import type { Round } from './round.ts'

/** Too few nodes answered: the error names those that did not, each with its cause. */
export function outage(round: Round, lanes: readonly Lane[]): StoreError {
  const causes = round.errors.flatMap((error, place) =>
    error === undefined ? [] : [nodeError((lanes[place] as Lane).node.name, error)],
  )
  return outageOf(lanes.length - round.failed, round.needed, lanes.length, causes)
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
