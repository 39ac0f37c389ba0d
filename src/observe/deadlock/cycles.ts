import type { Edge, Stuck } from './graph.ts'

/** A waiter, and the hold or queue position of the next one that it waits for. */
export interface CycleEdge {
  readonly from: string
  readonly hold: string | null
  readonly to: string
}

export type Cycle = readonly CycleEdge[]

/** One shortest cycle of each strongly connected part. The same for every observer of the same graph. */
export function cyclesIn(stuck: Stuck): Cycle[] {
  return partsOf(stuck).flatMap((part) => {
    let shortest: Cycle | null = null
    for (const start of [...part].sort()) {
      const cycle = cycleThrough(start, stuck, part)
      if (cycle !== null && (shortest === null || cycle.length < shortest.length)) shortest = cycle
    }
    return shortest === null ? [] : [shortest]
  })
}

/** True if every link of a cycle seen before is still there. */
export function isStillIn(stuck: Stuck, cycle: Cycle): boolean {
  return cycle.every(({ from, hold, to }) =>
    (stuck.get(from) ?? []).some((edge) => edge.to === to && edge.hold === hold),
  )
}

export function cycleId(cycle: Cycle): string {
  const links = cycle.map(({ from, hold }) => `${from} ${hold ?? ''}`)
  return links.sort().join('\n')
}

function cycleThrough(start: string, stuck: Stuck, part: ReadonlySet<string>): Cycle | null {
  const reachedBy = new Map<string, CycleEdge>()
  const queue = [start]
  for (const from of queue) {
    for (const { to, hold } of sorted(stuck.get(from) ?? [])) {
      if (!part.has(to) || reachedBy.has(to)) continue
      reachedBy.set(to, { from, hold, to })
      if (to === start) return pathTo(start, reachedBy)
      queue.push(to)
    }
  }
  return null
}

function pathTo(start: string, reachedBy: ReadonlyMap<string, CycleEdge>): Cycle {
  const path: CycleEdge[] = []
  let at = start
  do {
    const link = reachedBy.get(at) as CycleEdge
    path.unshift(link)
    at = link.from
  } while (at !== start)
  return path
}

function sorted(edges: readonly Edge[]): readonly Edge[] {
  return [...edges].sort((one, other) => (`${one.to} ${one.hold}` < `${other.to} ${other.hold}` ? -1 : 1))
}

/** Strongly connected parts, by forward and backward reachability: few actors are stuck. */
function partsOf(stuck: Stuck): ReadonlySet<string>[] {
  const parts: ReadonlySet<string>[] = []
  const placed = new Set<string>()
  const back = new Map<string, Edge[]>()
  for (const [from, edges] of stuck)
    for (const { to, hold } of edges) back.set(to, [...(back.get(to) ?? []), { to: from, hold }])
  for (const id of [...stuck.keys()].sort()) {
    if (placed.has(id)) continue
    const ahead = reached(id, stuck)
    const part = new Set([...reached(id, back)].filter((each) => ahead.has(each)))
    for (const each of part) placed.add(each)
    if (part.size > 0) parts.push(part)
  }
  return parts
}

function reached(start: string, edges: ReadonlyMap<string, readonly Edge[]>): ReadonlySet<string> {
  const found = new Set<string>()
  const queue = [start]
  for (const from of queue)
    for (const { to } of edges.get(from) ?? [])
      if (!found.has(to)) {
        found.add(to)
        queue.push(to)
      }
  return found
}
