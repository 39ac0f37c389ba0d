import { fits, type Mode } from '../../model/index.ts'

/** A hold that blocks others. */
export interface GraphHold {
  readonly id: string
  readonly mode: Mode
  /**
   * Its claims; the hold ends when all of them have. Each ends as soon as one of these waits of its actor ends. A claim
   * without a wait belongs to a working actor.
   */
  readonly claims: readonly (readonly string[])[]
}

/** A claim in a queue that is served in order. */
export interface GraphQueued {
  readonly id: string
  readonly mode: Mode
}

export interface GraphLock {
  readonly holds: readonly GraphHold[]
  /** Empty where the order does not decide who is next. */
  readonly queue: readonly GraphQueued[]
}

export interface GraphWait {
  readonly id: string
  readonly key: string
  readonly mode: Mode
  /** Its possible positions in the queue; none if it is not there by itself. */
  readonly positions: readonly number[]
}

export interface Graph {
  readonly locks: ReadonlyMap<string, GraphLock>
  readonly waits: ReadonlyMap<string, GraphWait>
}

/** An edge from a waiter to one that it waits for, by that one's hold, or by its queue position (null). */
export interface Edge {
  readonly to: string
  readonly hold: string | null
}

/** The edges between actors that will wait for ever unless one of them gives up. */
export type Stuck = ReadonlyMap<string, readonly Edge[]>

/**
 * Everything counts as stuck until something shows that it is not: a working actor, or room beside the certainly stuck.
 * The rest is the greatest set whose members wait for nobody outside of it.
 */
export function stuckIn({ locks, waits }: Graph): Stuck {
  const free = new Set<string>()
  const isOver = (claim: readonly string[]): boolean =>
    claim.length === 0 || claim.some((id) => !waits.has(id) || free.has(id))
  const stuckHolds = (lock: GraphLock): readonly GraphHold[] =>
    lock.holds.filter(({ claims }) => !claims.every(isOver))
  const edgesOf = ({ key, mode, positions }: GraphWait): Edge[] => {
    const lock = locks.get(key)
    if (lock === undefined) return []
    const holds = stuckHolds(lock)
    return [
      ...edgesTo(inTheWay(mode, holds), isOver),
      ...edgesBehind(lock, holds, positions.length === 0 ? -1 : Math.min(...positions)),
    ]
  }
  for (let before = -1; before !== free.size; ) {
    before = free.size
    for (const wait of waits.values()) if (!free.has(wait.id) && edgesOf(wait).length === 0) free.add(wait.id)
  }
  const stuck = new Map<string, readonly Edge[]>()
  for (const wait of waits.values()) if (!free.has(wait.id)) stuck.set(wait.id, edgesOf(wait))
  for (const lock of locks.values()) {
    const holds = stuckHolds(lock)
    for (const [position, { id, mode }] of lock.queue.entries()) {
      const edges = [...edgesTo(inTheWay(mode, holds), isOver), ...edgesBehind(lock, holds, position)]
      if (edges.length > 0 && !waits.has(id)) stuck.set(id, edges)
    }
  }
  return stuck
}

/** The holds that alone would keep a claim of that mode waiting. */
function inTheWay(mode: Mode, holds: readonly GraphHold[]): readonly GraphHold[] {
  if (fits(mode, holds)) return []
  return mode.kind === 'shared' ? holds.filter((hold) => hold.mode.kind !== 'shared') : holds
}

function edgesTo(holds: readonly GraphHold[], isOver: (claim: readonly string[]) => boolean): Edge[] {
  return holds.flatMap(({ id, claims }) =>
    claims.flatMap((claim) => (isOver(claim) ? [] : claim.map((wait) => ({ to: wait, hold: id })))),
  )
}

/** No waiter is served before the first in the queue that cannot be. */
function edgesBehind({ queue: line }: GraphLock, stuck: readonly GraphHold[], position: number): Edge[] {
  const first = line.findIndex(({ mode }) => !fits(mode, stuck))
  const ahead = first >= 0 && first < position ? line[first] : undefined
  return ahead === undefined ? [] : [{ to: ahead.id, hold: null }]
}
