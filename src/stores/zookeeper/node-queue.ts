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
 * A position in the queue of a key, by the sequence number of ZooKeeper. It usually has one node; a named owner that
 * claims again adds a node at the position of its hold.
 */
export interface Position {
  readonly seq: number
  readonly mode: Mode
  readonly owner: string | null
  readonly nodes: NodeName[]
}

/** A claim in the queue, by its id. */
export interface FoundClaim {
  readonly position: Position
  readonly node: NodeName
}

/** The decision about a claim that is not in the queue. */
export type Admission =
  | { readonly kind: 'free' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'join'; readonly position: Position }
  | Refused

/**
 * The queue of a key, made from the names of its nodes: the first positions hold the key, the others wait. A position that holds
 * stays a holder until its last node is gone, because the positions before it only become fewer. So a stale queue never grants
 * too early.
 */
export class NodeQueue {
  /** Nodes of another version. They come after all of ours, because no claim of ours joins a queue that has some. */
  readonly foreign: readonly NodeName[]
  private readonly positions: Position[] = []
  /** The positions that block readers. */
  private readonly writers: Position[] = []
  /** The nodes of each claim: one, except for a moment when a claim was made twice. */
  private readonly nodesOf = new Map<string, NodeName[]>()

  constructor(names: Iterable<string> = []) {
    const nodes = Array.from(names, parseName)
    this.foreign = nodes.filter(({ foreign }) => foreign)
    const known = nodes.filter(({ foreign }) => !foreign)
    known.sort((one, other) => compareSeq(seqOf(one), seqOf(other)))
    for (const node of known) this.add(node)
  }

  get length(): number {
    return this.positions.length
  }

  get first(): Position | undefined {
    return this.positions[0]
  }

  /** The highest sequence number, or null without a node. */
  get lastSeq(): number | null {
    let last: number | null = null
    for (const { nodes } of this.positions)
      for (const { seq } of nodes) if (last === null || compareSeq(seq, last) > 0) last = seq
    return last
  }

  get holders(): readonly Position[] {
    const known = this.positions.slice(0, this.holderCount)
    return this.positions.length === 0 ? this.foreignPlaces : known
  }

  get waiters(): readonly Position[] {
    const known = this.positions.slice(this.holderCount)
    return this.positions.length === 0 ? [] : [...known, ...this.foreignPlaces]
  }

  /** True if a claim waits. Holders are before waiters, so the last queued claim decides. */
  get isContended(): boolean {
    if (this.foreign.length > 0) return this.positions.length > 0
    const last = this.positions.findLastIndex(isQueued)
    return last >= 0 && this.blockersOf(last).length > 0
  }

  /** The first waiter that stays in the queue. */
  get firstWaiter(): Position | undefined {
    for (let at = this.holderCount; at < this.positions.length; at++)
      if (isQueued(this.positions[at] as Position)) return this.positions[at]
    return undefined
  }

  add(node: NodeName): void {
    const seq = seqOf(node)
    const index = indexIn(this.positions, seq)
    const position = this.positions[index]
    if (position?.seq === seq) {
      if (position.nodes.some(({ name }) => name === node.name)) return
      position.nodes.push(node)
    } else {
      const added: Position = { seq, mode: node.mode, owner: node.owner, nodes: [node] }
      this.positions.splice(index, 0, added)
      if (!isReader(added)) this.writers.splice(indexIn(this.writers, seq), 0, added)
    }
    const same = this.nodesOf.get(node.id)
    if (same === undefined) this.nodesOf.set(node.id, [node])
    else same.push(node)
  }

  remove(name: string): void {
    const position = this.find(name)
    if (position === undefined) return
    const index = position.nodes.findIndex((node) => node.name === name)
    for (const node of position.nodes.splice(index, 1)) this.forget(node)
    if (position.nodes.length > 0) return
    this.positions.splice(indexIn(this.positions, position.seq), 1)
    if (!isReader(position)) this.writers.splice(indexIn(this.writers, position.seq), 1)
  }

  /** Removes the position of a node, and all positions before it. */
  removeThrough(name: string): void {
    const position = this.find(name)
    if (position === undefined) return
    const gone = this.positions.splice(0, indexIn(this.positions, position.seq) + 1)
    for (const { nodes } of gone) for (const node of nodes) this.forget(node)
    this.writers.splice(0, gone.filter((each) => !isReader(each)).length)
  }

  private forget(node: NodeName): void {
    const others = this.nodesOf.get(node.id)?.filter((each) => each !== node) ?? []
    if (others.length === 0) this.nodesOf.delete(node.id)
    else this.nodesOf.set(node.id, others)
  }

  find(name: string): Position | undefined {
    const position = this.positions[indexIn(this.positions, seqOf(parseName(name)))]
    return position?.nodes.some((node) => node.name === name) ? position : undefined
  }

  findId(id: string): FoundClaim | undefined {
    const nodes = this.nodesOf.get(id) ?? []
    const [node] = nodes.toSorted((one, other) => compareSeq(seqOf(one), seqOf(other)))
    return node && { node, position: this.find(node.name) as Position }
  }

  holds(position: Position): boolean {
    return this.blockersOf(indexIn(this.positions, position.seq)).length === 0
  }

  /** 1 is next, 0 holds. */
  positionOf(position: Position): number {
    return Math.max(0, indexIn(this.positions, position.seq) - this.holderCount + 1)
  }

  /** The hold that a claim of a named owner joins, past the queue. */
  holdOfOwner(owner: string | null): Position | undefined {
    if (owner === null) return undefined
    return this.positions.find((position) => position.owner === owner && this.holds(position))
  }

  /** Refuses a claim for which waiting is useless. */
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

  admissionOf(claim: Claim): Admission {
    const refusal = this.refusalOf(claim)
    if (refusal !== null) return refusal
    const position = this.holdOfOwner(claim.owner)
    if (position !== undefined) return { kind: 'join', position }
    return { kind: this.blockersAt(this.positions.length, claim.mode).length === 0 ? 'free' : 'busy' }
  }

  /**
   * The names of the nodes to watch for a position that does not hold: as few as possible, and one of them must go before the
   * position can hold.
   */
  watchedBy(position: Position): readonly string[] {
    const index = indexIn(this.positions, position.seq)
    const watched = new Set(this.blockersOf(index).map(lastName))
    // This claim joins an earlier claim of the same owner as soon as that one holds.
    const ally =
      position.owner === null
        ? undefined
        : this.positions
            .slice(0, index)
            .find((other) => other.owner === position.owner && covers(other.mode, position.mode))
    if (ally !== undefined && !this.holds(ally)) for (const name of this.watchedBy(ally)) watched.add(name)
    return [...watched]
  }

  private get foreignPlaces(): readonly Position[] {
    return this.foreign.length === 0
      ? []
      : [{ seq: 0, mode: { kind: 'exclusive' }, owner: null, nodes: [...this.foreign] }]
  }

  private get holderCount(): number {
    let low = 0
    let high = this.positions.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.blockersOf(middle).length === 0) low = middle + 1
      else high = middle
    }
    return low
  }

  private blockersOf(index: number): readonly Position[] {
    return this.blockersAt(index, (this.positions[index] as Position).mode)
  }

  /** The positions before `index` of which one must go before a claim of that mode holds there. */
  private blockersAt(index: number, mode: Mode): readonly Position[] {
    const nearest = this.positions[index - 1]
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

  /** The last writer up to that number. */
  private lastWriter(seq: number): readonly Position[] {
    const last = this.writers[indexIn(this.writers, (seq + 1) | 0) - 1]
    return last === undefined ? [] : [last]
  }

  /** The nearest positions that together leave too few permits: one of them must go. */
  private permitBlockers(index: number, { limit, weight }: Mode & { kind: 'permits' }): readonly Position[] {
    let used = 0
    for (let at = index - 1; at >= 0; at--) {
      used += weightOf((this.positions[at] as Position).mode)
      if (used + weight > limit) return this.positions.slice(at, index)
    }
    return []
  }
}

/** Sequence numbers wrap at 32 bits; those of living nodes are never half a round apart. */
export function compareSeq(one: number, other: number): number {
  return (one - other) | 0
}

function seqOf({ position, seq }: NodeName): number {
  return position?.seq ?? seq
}

/** The index of a position of that number, or the index at which to insert it. */
function indexIn(positions: readonly Position[], seq: number): number {
  let low = 0
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareSeq((positions[middle] as Position).seq, seq) < 0) low = middle + 1
    else high = middle
  }
  return low
}

function isReader({ mode }: Position): boolean {
  return mode.kind === 'shared'
}

function isQueued({ nodes }: Position): boolean {
  return nodes.some((node) => node.queued)
}

function holdOf({ mode, owner }: Position): Hold {
  return { owner, mode, seq: 0, members: [] }
}

function lastName({ nodes }: Position): string {
  return (nodes.at(-1) as NodeName).name
}

/** A lock leaves no permits. */
function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : Number.POSITIVE_INFINITY
}
