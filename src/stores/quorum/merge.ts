import type { HolderView, KeyView, Mode, WaiterView } from '../../model/index.ts'
import type { NodeView } from './protocol.ts'
import { votesNeeded } from './tally.ts'

/** A claim that holds the key according to the nodes that answered. */
export interface MergedHolder {
  readonly id: string
  readonly holder: HolderView
}

/** The joint view of the nodes. A claim that few nodes know is arriving or leaving, and is not shown. */
export function mergedView(views: readonly NodeView[], nodes: number): KeyView {
  const first = (views[0] as NodeView).view
  const tokens = views.map(({ view }) => view.token ?? 0n)
  const token = tokens.reduce((highest, each) => (each > highest ? each : highest), 0n)
  return {
    key: first.key,
    holders: idsOf(views, nodes).map(({ holder }) => holder),
    queue: waitersOf(views, nodes),
    token: token === 0n ? null : token,
    limit: views.find(({ view }) => view.limit !== null)?.view.limit ?? null,
    closedForMs: median(views.map(({ view }) => view.closedForMs)),
  }
}

export function idsOf(views: readonly NodeView[], nodes: number): MergedHolder[] {
  const silent = nodes - views.length
  const sightings = new Map<string, HolderView[]>()
  for (const { view, holderIds } of views) {
    for (const [index, id] of holderIds.entries()) {
      const seen = sightings.get(id) ?? []
      seen.push(view.holders[index] as HolderView)
      sightings.set(id, seen)
    }
  }
  const limit = views.find(({ view }) => view.limit !== null)?.view.limit ?? 1
  const found: MergedHolder[] = []
  for (const [id, seen] of sightings) {
    const first = seen[0] as HolderView
    const mode: Mode =
      first.mode === 'permits' ? { kind: 'permits', limit, weight: first.weight } : { kind: first.mode }
    if (seen.length + silent < votesNeeded(mode, nodes)) continue
    found.push({ id, holder: { ...first, token: commonest(seen.map(({ token }) => token)) } })
  }
  return found
}

/** Waiters that a majority of the nodes may know, by the time of their arrival. */
function waitersOf(views: readonly NodeView[], nodes: number): WaiterView[] {
  const silent = nodes - views.length
  const sightings = new Map<string, WaiterView[]>()
  for (const { view, waiterIds } of views) {
    for (const [index, id] of waiterIds.entries())
      sightings.set(id, [...(sightings.get(id) ?? []), view.queue[index] as WaiterView])
  }
  const known = [...sightings.values()].filter((seen) => (seen.length + silent) * 2 > nodes)
  return known.map((seen) => seen[0] as WaiterView).sort((a, b) => b.waitedMs - a.waitedMs)
}

/** The number of most nodes: a node that granted late may have another one for a moment. */
function commonest<T>(values: readonly T[]): T {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best))[0]
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1] as number
}
