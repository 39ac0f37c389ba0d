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
import { Chain, type Link } from './chain.ts'
import { Ends } from './ends.ts'

/** A key with many claims: whatever is asked of it is found without looking through them. */
export class CrowdedKey implements KeyIndex {
  readonly summary: KeySummary
  private readonly links = new Map<string, Link>()
  private readonly held = new Chain()
  private readonly queue = new Chain()
  private readonly heldEnds = new Ends()
  private readonly queueEnds = new Ends()
  /** The last claim of each owner's hold; the others stand right before it. */
  private readonly owners = new Map<string, Link>()
  private readonly waitersOf = new Map<string, Set<Link>>()
  /** How to undo what was done since `begin`, the last thing first. */
  private undoing: (() => void)[] | null = null

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

  /** What is done from here on can be undone. */
  begin(): void {
    const before = { ...this.summary }
    this.undoing = [() => Object.assign(this.summary, before)]
  }

  get isUndoable(): boolean {
    return this.undoing !== null
  }

  commit(): void {
    this.undoing = null
  }

  undo(): void {
    const steps = this.undoing ?? []
    this.undoing = null
    for (const step of steps.reverse()) step()
  }

  find(id: string): IndexedClaim | undefined {
    return this.links.get(id)?.claim
  }

  add(claim: IndexedClaim): void {
    const link: Link = { claim, before: null, after: null, linked: false, filedMs: null }
    const own = claim.held && claim.owner !== null ? this.owners.get(claim.owner) : undefined
    this.chainOf(claim).insert(link, own)
    this.note(link)
    this.undoing?.push(() => this.drop(link))
  }

  replace(claim: IndexedClaim, next: IndexedClaim): void {
    const link = this.linkOf(claim)
    if (claim.id === next.id) {
      const before = link.claim
      link.claim = next
      this.undoing?.push(() => this.renewed(link, before))
      return
    }
    const heir: Link = { claim: next, before: null, after: null, linked: false, filedMs: null }
    this.chainOf(next).insert(heir, link)
    this.note(heir)
    this.undoing?.push(() => this.drop(heir))
    this.remove(claim)
  }

  remove(claim: IndexedClaim): void {
    const link = this.linkOf(claim)
    this.drop(link)
    this.undoing?.push(() => {
      this.chainOf(claim).putBack(link)
      this.note(link)
    })
  }

  holders(most: number): readonly IndexedClaim[] {
    const found: IndexedClaim[] = []
    for (let link = this.held.first; link !== null && found.length < most; link = link.after)
      found.push(link.claim)
    return found
  }

  holdersWith(seq: number): readonly IndexedClaim[] {
    return [...this.held].filter((claim) => claim.seq === seq)
  }

  ownHold(owner: string): IndexedClaim | undefined {
    return this.owners.get(owner)?.claim
  }

  isShared(claim: IndexedClaim): boolean {
    const { before, after } = this.linkOf(claim)
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
    for (let link = this.linkOf(claim).before; link !== null && count < most; link = link.before) {
      count++
      endMs = Math.min(endMs ?? Number.POSITIVE_INFINITY, link.claim.expiresAtMs)
    }
    return { count, endMs }
  }

  expired(nowMs: number, most: number): readonly IndexedClaim[] {
    const waiters = this.queueEnds.until(nowMs, most)
    return [...waiters, ...this.heldEnds.until(nowMs, most - waiters.length)].map(({ claim }) => claim)
  }

  nextEndMs(held: boolean): number | null {
    return (held ? this.heldEnds : this.queueEnds).first()?.claim.expiresAtMs ?? null
  }

  private linkOf({ id }: IndexedClaim): Link {
    return this.links.get(id) as Link
  }

  private chainOf({ held }: IndexedClaim): Chain {
    return held ? this.held : this.queue
  }

  private endsOf({ held }: IndexedClaim): Ends {
    return held ? this.heldEnds : this.queueEnds
  }

  /** Makes a link that is in its chain findable in all the other ways. */
  private note(link: Link): void {
    const { claim } = link
    this.links.set(claim.id, link)
    this.endsOf(claim).add(link)
    const { owner, held, hold } = claim
    if (owner === null) return
    if (held) {
      if (link.after?.claim.hold !== hold) this.owners.set(owner, link)
      return
    }
    const waiters = this.waitersOf.get(owner)
    if (waiters === undefined) this.waitersOf.set(owner, new Set([link]))
    else if (link.after === null) waiters.add(link)
    // Put back in the middle of the queue, which only happens when something is undone.
    else this.waitersOf.set(owner, new Set([...waiters, link].sort(byTicket)))
  }

  private drop(link: Link): void {
    const { claim } = link
    this.chainOf(claim).take(link)
    this.endsOf(claim).forget()
    // An adopter may have come in its place.
    if (this.links.get(claim.id) === link) this.links.delete(claim.id)
    const { owner, held, hold } = claim
    if (owner === null) return
    if (held) {
      if (this.owners.get(owner) !== link) return
      if (link.before?.claim.hold === hold) this.owners.set(owner, link.before)
      else this.owners.delete(owner)
      return
    }
    const waiters = this.waitersOf.get(owner)
    waiters?.delete(link)
    if (waiters?.size === 0) this.waitersOf.delete(owner)
  }

  /** The end of a link may come earlier again: it is filed anew. */
  private renewed(link: Link, claim: IndexedClaim): void {
    this.drop(link)
    link.claim = claim
    this.chainOf(claim).putBack(link)
    this.note(link)
  }
}

function byTicket(one: Link, other: Link): number {
  return one.claim.ticket - other.claim.ticket
}
