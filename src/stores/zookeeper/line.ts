import {
  type Claim,
  covers,
  EMPTY,
  fits,
  type Hold,
  type Mode,
  mismatch,
  type Refused,
  refused,
} from '../../model/index.ts'
import { type NodeName, parseName } from './names.ts'

/**
 * A place in the line of a key, in the order in which ZooKeeper numbered them. Usually one node; a named owner that
 * claims again puts another node at the place of its hold.
 */
export interface Place {
  readonly seq: number
  readonly mode: Mode
  readonly owner: string | null
  readonly nodes: readonly NodeName[]
  /** Once it holds it does so until its last node goes: those before it can only become fewer. */
  readonly holds: boolean
}

export type Line = readonly Place[]

/** What a claim that is not in the line yet would find. */
export type Reception =
  | { readonly kind: 'free' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'join'; readonly place: Place }
  | Refused

/** The line that the names of a key's nodes make, and who in it holds the key. */
export function lineOf(names: readonly string[]): Line {
  const bySeq = new Map<number, NodeName[]>()
  for (const name of names) {
    const node = parseName(name)
    const seq = node.place?.seq ?? node.seq
    const nodes = bySeq.get(seq)
    if (nodes === undefined) bySeq.set(seq, [node])
    else nodes.push(node)
  }
  const holds: Hold[] = []
  let blocked = false
  return [...bySeq]
    .sort(([one], [other]) => compareSeq(one, other))
    .map(([seq, nodes]) => {
      const { mode, owner } = nodes[0] as NodeName
      blocked ||= !admits(mode, holds)
      if (!blocked) holds.push(holdOf(mode, owner))
      return { seq, mode, owner, nodes, holds: !blocked }
    })
}

/** Sequence numbers are 32 bits and go round; those of nodes that live at the same time are never half a round apart. */
export function compareSeq(one: number, other: number): number {
  return (one - other) | 0
}

export function findId(line: Line, id: string): { place: Place; node: NodeName } | undefined {
  for (const place of line) {
    const node = place.nodes.find((candidate) => candidate.id === id)
    if (node !== undefined) return { place, node }
  }
  return undefined
}

export function findName(line: Line, name: string): Place | undefined {
  return line.find(({ nodes }) => nodes.some((node) => node.name === name))
}

/** Whether somebody stands in the line and waits. */
export function isContended(line: Line): boolean {
  return line.some(waits)
}

/** 1 is next. */
export function positionOf(line: Line, place: Place): number {
  return line.slice(0, line.indexOf(place)).filter(waits).length + 1
}

/** The hold that a claim of a named owner joins, past everybody else. */
export function ownHold(line: Line, owner: string | null): Place | undefined {
  return owner === null ? undefined : line.find((place) => place.holds && place.owner === owner)
}

/** What waiting cannot cure; `line` are those who were there before. */
export function refusalOf(line: Line, claim: Claim): Refused | null {
  const first = line[0]
  const holds = first === undefined ? [] : [holdOf(first.mode, first.owner)]
  const unfit = mismatch({ ...EMPTY, holds }, claim)
  if (unfit !== null) return unfit
  const own = ownHold(line, claim.owner)
  if (own === undefined || covers(own.mode, claim.mode)) return null
  return refused(
    'upgrade',
    'the owner holds the key already, with less than it now asks for: release that first',
  )
}

export function receptionOf(line: Line, claim: Claim): Reception {
  const refusal = refusalOf(line, claim)
  if (refusal !== null) return refusal
  const place = ownHold(line, claim.owner)
  if (place !== undefined) return { kind: 'join', place }
  const everybodyHolds = line.every(({ holds }) => holds)
  const holds = line.map(({ mode, owner }) => holdOf(mode, owner))
  return { kind: everybodyHolds && admits(claim.mode, holds) ? 'free' : 'busy' }
}

/**
 * The names of the nodes to watch, for a place that does not hold: as few as possible, but so that it cannot come to
 * hold without one of them going.
 */
export function watchedBy(line: Line, place: Place): readonly string[] {
  const before = line.slice(0, line.indexOf(place))
  const watched = new Set(blockersOf(before, place.mode).map(lastName))
  // When an earlier claim of the same owner comes to hold, this one joins it.
  const ally = before.find(
    (other) => place.owner !== null && other.owner === place.owner && covers(other.mode, place.mode),
  )
  if (ally !== undefined && !ally.holds) for (const name of watchedBy(line, ally)) watched.add(name)
  return [...watched]
}

function blockersOf(before: Line, mode: Mode): Line {
  const nearest = before.slice(-1)
  switch (mode.kind) {
    case 'exclusive':
      return nearest
    case 'shared':
      return before.filter((other) => other.mode.kind !== 'shared').slice(-1)
    case 'permits':
      return before.every((other) => other.mode.kind === 'permits') ? permitBlockers(before, mode) : nearest
  }
}

/**
 * The nearest places, as many as it takes that the others together weigh less than what is too much. So each waiter
 * watches others, and the places that go in their order wake one waiter each.
 */
function permitBlockers(before: Line, { limit, weight }: Mode & { kind: 'permits' }): Line {
  const used = before.reduce((sum, other) => sum + weightOf(other.mode), 0)
  const excess = used + weight - limit
  let unwatched = used
  let first = before.length
  while (unwatched >= excess && first > 0) unwatched -= weightOf((before[--first] as Place).mode)
  return before.slice(first)
}

function admits(mode: Mode, holds: readonly Hold[]): boolean {
  const used = holds[0]?.mode.kind
  const alike = used === undefined || (used === 'permits') === (mode.kind === 'permits')
  return alike && fits(mode, holds)
}

function waits({ holds, nodes }: Place): boolean {
  return !holds && nodes.some((node) => node.queued)
}

function holdOf(mode: Mode, owner: string | null): Hold {
  return { owner, mode, seq: 0, members: [] }
}

function lastName({ nodes }: Place): string {
  return (nodes.at(-1) as NodeName).name
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 0
}
