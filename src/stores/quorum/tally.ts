import type { Mode } from '../../model/index.ts'

interface Tally {
  readonly nodes: number
  readonly needed: number
  readonly yes: number
  readonly no: number
  readonly failed: number
}

/** Met, still possible, or hopeless. Every vector of votes settles in the end. */
export function verdictOf({ nodes, needed, yes, no, failed }: Tally): 'met' | 'possible' | 'hopeless' {
  if (yes >= needed) return 'met'
  return nodes - no - failed >= needed ? 'possible' : 'hopeless'
}

export function majorityOf(nodes: number): number {
  return Math.floor(nodes / 2) + 1
}

/**
 * The votes that a claim needs. Two majorities share a node, which keeps two holders, or a reader and a writer, apart. A semaphore
 * needs more: each node admits `limit` permits, so there are `nodes × limit` votes in all, and `limit + 1` permits must never get
 * enough of them.
 */
export function votesNeeded(mode: Mode, nodes: number): number {
  if (mode.kind !== 'permits') return majorityOf(nodes)
  return Math.floor((nodes * mode.limit) / (mode.limit + 1)) + 1
}
