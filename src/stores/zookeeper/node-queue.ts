import {
  type Claim,
  covers,
  EMPTY,
  type Hold,
  type Mode,
  mismatch,
  type Refused,
  refused,
} from '../../model/index.ts'
import { type NodeName, parseName } from './names.ts'

/**
 * A position in the queue of a key, in the order in which ZooKeeper numbered them. Usually one node; a named owner that
 * claims again puts another node at the place of its hold.
 */
export interface Place {
  readonly seq: number
  readonly mode: Mode
  readonly owner: string | null
  readonly nodes: NodeName[]
}

/** How a claim that is not in the queue yet would be received. */
export type Reception =
  | { readonly kind: 'free' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'join'; readonly place: Place }
  | Refused

/**
 * The queue that the names of a key's nodes make: those at its front hold the key, the others wait. Once a place holds it does so
 * until its last node goes, because those before it can only become fewer. So a queue that still has places which are gone by now
 * never says too early that a claim holds.
 */
export class Queue {
  /** Nodes of another version. No claim of ours joins a queue that has some, so all of them came after those that are in it. */
  readonly foreign: readonly NodeName[]
  private readonly places: Place[] = []
  /** The places that are no readers', which stop readers. */
  private readonly writers: Place[] = []
  /** The nodes of each claim: one, but for a moment when a claim was made twice. */
  private readonly nodesOf = new Map<string, NodeName[]>()

  constructor(names: Iterable<string> = []) {
    const nodes = Array.from(names, parseName)
    this.foreign = nodes.filter(({ foreign }) => foreign)
    const known = nodes.filter(({ foreign }) => !foreign)
    known.sort((one, other) => compareSeq(seqOf(one), seqOf(other)))
    for (const node of known) this.add(node)
  }

  /** How many places there are. */
  get length(): number {
    return this.places.length
  }

  get first(): Place | undefined {
    return this.places[0]
  }

  /** The highest number of a node, or null when there is none. */
  get lastSeq(): number | null {
    let last: number | null = null
    for (const { nodes } of this.places)
      for (const { seq } of nodes) if (last === null || compareSeq(seq, last) > 0) last = seq
    return last
  }

  get holders(): readonly Place[] {
    const known = this.places.slice(0, this.holderCount)
    return this.places.length === 0 ? this.foreignPlaces : known
  }

  get waiters(): readonly Place[] {
    const known = this.places.slice(this.holderCount)
    return this.places.length === 0 ? [] : [...known, ...this.foreignPlaces]
  }

  /** Whether somebody waits. Holders stand before waiters, so the last that would stay decides. */
  get isContended(): boolean {
    if (this.foreign.length > 0) return this.places.length > 0
    const last = this.places.findLastIndex(isQueued)
    return last >= 0 && this.blockersOf(last).length > 0
  }

  /** The first that is here to wait. */
  get firstWaiter(): Place | undefined {
    for (let at = this.holderCount; at < this.places.length; at++)
      if (isQueued(this.places[at] as Place)) return this.places[at]
    return undefined
  }

  add(node: NodeName): void {
    const seq = seqOf(node)
    const index = indexIn(this.places, seq)
    const place = this.places[index]
    if (place?.seq === seq) {
      if (place.nodes.some(({ name }) => name === node.name)) return
      place.nodes.push(node)
    } else {
      const added: Place = { seq, mode: node.mode, owner: node.owner, nodes: [node] }
      this.places.splice(index, 0, added)
      if (!isReader(added)) this.writers.splice(indexIn(this.writers, seq), 0, added)
    }
    const same = this.nodesOf.get(node.id)
    if (same === undefined) this.nodesOf.set(node.id, [node])
    else same.push(node)
  }

  remove(name: string): void {
    const place = this.find(name)
    if (place === undefined) return
    const index = place.nodes.findIndex((node) => node.name === name)
    for (const node of place.nodes.splice(index, 1)) this.forget(node)
    if (place.nodes.length > 0) return
    this.places.splice(indexIn(this.places, place.seq), 1)
    if (!isReader(place)) this.writers.splice(indexIn(this.writers, place.seq), 1)
  }

  /** The place of a node, and all before it, are gone. */
  removeThrough(name: string): void {
    const place = this.find(name)
    if (place === undefined) return
    const gone = this.places.splice(0, indexIn(this.places, place.seq) + 1)
    for (const { nodes } of gone) for (const node of nodes) this.forget(node)
    this.writers.splice(0, gone.filter((each) => !isReader(each)).length)
  }

  private forget(node: NodeName): void {
    const others = this.nodesOf.get(node.id)?.filter((each) => each !== node) ?? []
    if (others.length === 0) this.nodesOf.delete(node.id)
    else this.nodesOf.set(node.id, others)
  }

  find(name: string): Place | undefined {
    const place = this.places[indexIn(this.places, seqOf(parseName(name)))]
    return place?.nodes.some((node) => node.name === name) ? place : undefined
  }

  findId(id: string): { place: Place; node: NodeName } | undefined {
    const nodes = this.nodesOf.get(id) ?? []
    const [node] = nodes.toSorted((one, other) => compareSeq(seqOf(one), seqOf(other)))
    return node && { node, place: this.find(node.name) as Place }
  }

  holds(place: Place): boolean {
    return this.blockersOf(indexIn(this.places, place.seq)).length === 0
  }

  /** 1 is next, 0 holds. */
  positionOf(place: Place): number {
    return Math.max(0, indexIn(this.places, place.seq) - this.holderCount + 1)
  }

  /** The hold that a claim of a named owner joins, past everybody else. */
  holdOfOwner(owner: string | null): Place | undefined {
    if (owner === null) return undefined
    return this.places.find((place) => place.owner === owner && this.holds(place))
  }

  /** What waiting cannot cure. */
  refusalOf(claim: Claim): Refused | null {
    const first = this.first
    const holds = first === undefined ? [] : [holdOf(first)]
    const unfit = mismatch({ ...EMPTY, holds }, claim)
    if (unfit !== null) return unfit
    const own = this.holdOfOwner(claim.owner)
    if (own === undefined || covers(own.mode, claim.mode)) return null
    return refused(
      'upgrade',
      'the owner holds the key already, with less than it now asks for: release that first',
    )
  }

  receptionOf(claim: Claim): Reception {
    const refusal = this.refusalOf(claim)
    if (refusal !== null) return refusal
    const place = this.holdOfOwner(claim.owner)
    if (place !== undefined) return { kind: 'join', place }
    return { kind: this.blockersAt(this.places.length, claim.mode).length === 0 ? 'free' : 'busy' }
  }

  /**
   * The names of the nodes to watch, for a place that does not hold: as few as possible, but so that it cannot come to
   * hold without one of them going.
   */
  watchedBy(place: Place): readonly string[] {
    const index = indexIn(this.places, place.seq)
    const watched = new Set(this.blockersOf(index).map(lastName))
    // When an earlier claim of the same owner comes to hold, this one joins it.
    const ally =
      place.owner === null
        ? undefined
        : this.places
            .slice(0, index)
            .find((other) => other.owner === place.owner && covers(other.mode, place.mode))
    if (ally !== undefined && !this.holds(ally)) for (const name of this.watchedBy(ally)) watched.add(name)
    return [...watched]
  }

  private get foreignPlaces(): readonly Place[] {
    return this.foreign.length === 0
      ? []
      : [{ seq: 0, mode: { kind: 'exclusive' }, owner: null, nodes: [...this.foreign] }]
  }

  private get holderCount(): number {
    let low = 0
    let high = this.places.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.blockersOf(middle).length === 0) low = middle + 1
      else high = middle
    }
    return low
  }

  private blockersOf(index: number): readonly Place[] {
    return this.blockersAt(index, (this.places[index] as Place).mode)
  }

  /** Those before an index of which one has to go before a claim of that mode holds there. */
  private blockersAt(index: number, mode: Mode): readonly Place[] {
    const nearest = this.places[index - 1]
    if (nearest === undefined) return []
    switch (mode.kind) {
      case 'exclusive':
        return [nearest]
      case 'shared':
        return this.lastWriter(nearest.seq)
      case 'permits':
        return this.permitBlockers(index, mode)
    }
  }

  /** The last that is no reader, up to that number. */
  private lastWriter(seq: number): readonly Place[] {
    const last = this.writers[indexIn(this.writers, (seq + 1) | 0) - 1]
    return last === undefined ? [] : [last]
  }

  /** The nearest places that together leave too little: the queue is served in order, so all of them together must not stay. */
  private permitBlockers(index: number, { limit, weight }: Mode & { kind: 'permits' }): readonly Place[] {
    let used = 0
    for (let at = index - 1; at >= 0; at--) {
      used += weightOf((this.places[at] as Place).mode)
      if (used + weight > limit) return this.places.slice(at, index)
    }
    return []
  }
}

/** Sequence numbers are 32 bits and go round; those of nodes that live at the same time are never half a round apart. */
export function compareSeq(one: number, other: number): number {
  return (one - other) | 0
}

function seqOf({ place, seq }: NodeName): number {
  return place?.seq ?? seq
}

/** Where a place of that number is, or would be. */
function indexIn(places: readonly Place[], seq: number): number {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareSeq((places[middle] as Place).seq, seq) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function isReader({ mode }: Place): boolean {
  return mode.kind === 'shared'
}

function isQueued({ nodes }: Place): boolean {
  return nodes.some((node) => node.queued)
}

function holdOf({ mode, owner }: Place): Hold {
  return { owner, mode, seq: 0, members: [] }
}

function lastName({ nodes }: Place): string {
  return (nodes.at(-1) as NodeName).name
}

/** Beside a lock there is no room for permits. */
function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : Number.POSITIVE_INFINITY
}
