import type { Mode } from '../../model/index.ts'

export interface Tally {
  readonly nodes: number
  readonly needed: number
  readonly yes: number
  readonly no: number
  readonly failed: number
}

/** Whether the votes are there, may still come, or cannot come any more. Every vector of votes settles in the end. */
export function verdictOf({ nodes, needed, yes, no, failed }: Tally): 'met' | 'possible' | 'hopeless' {
  if (yes >= needed) return 'met'
  return nodes - no - failed >= needed ? 'possible' : 'hopeless'
}

export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/**
 * How many of `nodes` must vote for a claim. Two majorities share a node, which is enough to keep two holders, or a
 * reader and a writer, apart. A semaphore needs more: each node admits `limit` permits, so `nodes × limit` votes
 * can be had in all, and `limit + 1` permits must never get enough of them.
 */
export function votesNeeded(mode: Mode, nodes: number): number {
  if (mode.kind !== 'permits') return majorityOf(nodes)
  return Math.floor((nodes * mode.limit) / (mode.limit + 1)) + 1
}
