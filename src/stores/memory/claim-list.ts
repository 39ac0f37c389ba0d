import type { IndexedClaim } from '../../model/index.ts'

/** A claim and its neighbours in a list. A removed node keeps them, so that it can be put back. */
export interface ClaimNode {
  claim: IndexedClaim
  before: ClaimNode | null
  after: ClaimNode | null
  /** It is in a list. */
  linked: boolean
  /** Its key in the expiry heap: the expiry, or an earlier one, since expiries only move back. Null while it is in no heap. */
  heapMs: number | null
}

/** A doubly linked list of claims: every change costs the same for many as for few. */
export class ClaimList {
  first: ClaimNode | null = null
  private last: ClaimNode | null = null

  /** Inserts a node after another one, or at the end. */
  insert(node: ClaimNode, before: ClaimNode | null = this.last): void {
    node.before = before
    node.after = before === null ? this.first : before.after
    this.join(node)
  }

  take(node: ClaimNode): void {
    if (node.before === null) this.first = node.after
    else node.before.after = node.after
    if (node.after === null) this.last = node.before
    else node.after.before = node.before
    node.linked = false
  }

  /** Undoes `take`, if every later change has been undone. */
  putBack(node: ClaimNode): void {
    this.join(node)
  }

  *[Symbol.iterator](): Generator<IndexedClaim> {
    for (let node = this.first; node !== null; node = node.after) yield node.claim
  }

  private join(node: ClaimNode): void {
    if (node.before === null) this.first = node
    else node.before.after = node
    if (node.after === null) this.last = node
    else node.after.before = node
    node.linked = true
  }
}
