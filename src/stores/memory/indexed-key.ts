import {
  claimsOf,
  covers,
  emptySummary,
  type IndexedClaim,
  type KeyIndex,
  type KeyState,
  type KeySummary,
  type Mode,
  stateOf,
} from '../../model/index.ts'
import { ClaimList, type ClaimNode } from './claim-list.ts'
import { ExpiryHeap } from './expiry-heap.ts'

/** A key with many claims: every query is answered without reading all of them. */
export class IndexedKey implements KeyIndex {
  readonly summary: KeySummary
  private readonly nodes = new Map<string, ClaimNode>()
  private readonly held = new ClaimList()
  private readonly queue = new ClaimList()
  private readonly holdExpiries = new ExpiryHeap()
  private readonly queueExpiries = new ExpiryHeap()
  /** The last claim of each owner's hold; the others are right before it. */
  private readonly owners = new Map<string, ClaimNode>()
  private readonly waitersOf = new Map<string, Set<ClaimNode>>()
  /** Undoes the changes since `begin`, in reverse order; null outside a transaction. */
  private undoSteps: (() => void)[] | null = null

  constructor(state: KeyState) {
    this.summary = emptySummary(state.seq, state.seqKeptUntilMs, state.closedUntilMs)
    const { summary } = this
    for (const hold of state.holds) {
      summary.mode = hold.mode.kind
      if (hold.mode.kind !== 'permits') continue
      summary.limit = hold.mode.limit
      summary.used += hold.mode.weight
    }
    for (const claim of claimsOf(state)) {
      this.add(claim)
      if (claim.held) summary.holders++
      else summary.waiters++
      summary.lastTicket = claim.ticket
    }
  }

  state(key: string): KeyState {
    return stateOf(key, this.summary, this.held, this.queue)
  }

  /** The changes from here on can be undone. */
  begin(): void {
    const before = { ...this.summary }
    this.undoSteps = [() => Object.assign(this.summary, before)]
  }

  get isUndoable(): boolean {
    return this.undoSteps !== null
  }

  commit(): void {
    this.undoSteps = null
  }

  undo(): void {
    const steps = this.undoSteps ?? []
    this.undoSteps = null
    for (const step of steps.reverse()) step()
  }

  find(id: string): IndexedClaim | undefined {
    return this.nodes.get(id)?.claim
  }

  add(claim: IndexedClaim): void {
    const node: ClaimNode = { claim, before: null, after: null, linked: false, heapMs: null }
    const own = claim.held && claim.owner !== null ? this.owners.get(claim.owner) : undefined
    this.listOf(claim).insert(node, own)
    this.note(node)
    this.undoSteps?.push(() => this.drop(node))
  }

  replace(claim: IndexedClaim, next: IndexedClaim): void {
    const node = this.nodeOf(claim)
    if (claim.id === next.id) {
      const before = node.claim
      node.claim = next
      this.undoSteps?.push(() => this.renewed(node, before))
      return
    }
    const adopter: ClaimNode = { claim: next, before: null, after: null, linked: false, heapMs: null }
    this.listOf(next).insert(adopter, node)
    this.note(adopter)
    this.undoSteps?.push(() => this.drop(adopter))
    this.remove(claim)
  }

  remove(claim: IndexedClaim): void {
    const node = this.nodeOf(claim)
    this.drop(node)
    this.undoSteps?.push(() => {
      this.listOf(claim).putBack(node)
      this.note(node)
    })
  }

  holders(most: number): readonly IndexedClaim[] {
    const found: IndexedClaim[] = []
    for (let node = this.held.first; node !== null && found.length < most; node = node.after)
      found.push(node.claim)
    return found
  }

  holdersWith(seq: number): readonly IndexedClaim[] {
    return [...this.held].filter((claim) => claim.seq === seq)
  }

  ownHold(owner: string): IndexedClaim | undefined {
    return this.owners.get(owner)?.claim
  }

  isShared(claim: IndexedClaim): boolean {
    const { before, after } = this.nodeOf(claim)
    return before?.claim.hold === claim.hold || after?.claim.hold === claim.hold
  }

  head(): IndexedClaim | undefined {
    return this.queue.first?.claim
  }

  firstOf(owner: string, mode: Mode): IndexedClaim | undefined {
    for (const { claim } of this.waitersOf.get(owner) ?? []) if (covers(mode, claim.mode)) return claim
    return undefined
  }

  firstTicket(): number | null {
    return this.queue.first?.claim.ticket ?? null
  }

  waitersBefore(
    claim: IndexedClaim,
    most: number,
  ): { readonly count: number; readonly endMs: number | null } {
    let count = 0
    let endMs: number | null = null
    for (let node = this.nodeOf(claim).before; node !== null && count < most; node = node.before) {
      count++
      endMs = Math.min(endMs ?? Number.POSITIVE_INFINITY, node.claim.expiresAtMs)
    }
    return { count, endMs }
  }

  expired(nowMs: number, most: number): readonly IndexedClaim[] {
    const waiters = this.queueExpiries.until(nowMs, most)
    return [...waiters, ...this.holdExpiries.until(nowMs, most - waiters.length)].map(({ claim }) => claim)
  }

  nextEndMs(held: boolean): number | null {
    return (held ? this.holdExpiries : this.queueExpiries).first()?.claim.expiresAtMs ?? null
  }

  private nodeOf({ id }: IndexedClaim): ClaimNode {
    return this.nodes.get(id) as ClaimNode
  }

  private listOf({ held }: IndexedClaim): ClaimList {
    return held ? this.held : this.queue
  }

  private expiriesOf({ held }: IndexedClaim): ExpiryHeap {
    return held ? this.holdExpiries : this.queueExpiries
  }

  /** Adds a node of a list to all the other indexes. */
  private note(node: ClaimNode): void {
    const { claim } = node
    this.nodes.set(claim.id, node)
    this.expiriesOf(claim).add(node)
    const { owner, held, hold } = claim
    if (owner === null) return
    if (held) {
      if (node.after?.claim.hold !== hold) this.owners.set(owner, node)
      return
    }
    const waiters = this.waitersOf.get(owner)
    if (waiters === undefined) this.waitersOf.set(owner, new Set([node]))
    else if (node.after === null) waiters.add(node)
    // Only `undo` puts a node back into the middle of the queue.
    else this.waitersOf.set(owner, new Set([...waiters, node].sort(byTicket)))
  }

  private drop(node: ClaimNode): void {
    const { claim } = node
    this.listOf(claim).take(node)
    this.expiriesOf(claim).forget()
    // An adopter may have replaced it.
    if (this.nodes.get(claim.id) === node) this.nodes.delete(claim.id)
    const { owner, held, hold } = claim
    if (owner === null) return
    if (held) {
      if (this.owners.get(owner) !== node) return
      if (node.before?.claim.hold === hold) this.owners.set(owner, node.before)
      else this.owners.delete(owner)
      return
    }
    const waiters = this.waitersOf.get(owner)
    waiters?.delete(node)
    if (waiters?.size === 0) this.waitersOf.delete(owner)
  }

  /** The expiry of a node may be earlier again, so it is added to the heap anew. */
  private renewed(node: ClaimNode, claim: IndexedClaim): void {
    this.drop(node)
    node.claim = claim
    this.listOf(claim).putBack(node)
    this.note(node)
  }
}

function byTicket(one: ClaimNode, other: ClaimNode): number {
  return one.claim.ticket - other.claim.ticket
}
