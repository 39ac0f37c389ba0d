import type { IndexedClaim } from '../../model/index.ts'

/** A claim and its neighbours. A link that was taken out remembers them, so that it can be put back. */
export interface Link {
  claim: IndexedClaim
  before: Link | null
  after: Link | null
  /** Whether it is in a chain. */
  linked: boolean
  /** When the heap looks at it next: at its end or, since ends only move back, earlier. Null while it is in no heap. */
  filedMs: number | null
}

/** Claims in an order, with nothing that costs more for many of them than for few. */
export class Chain {
  first: Link | null = null
  private last: Link | null = null

  /** Puts a link behind another one, or at the end. */
  insert(link: Link, before: Link | null = this.last): void {
    link.before = before
    link.after = before === null ? this.first : before.after
    this.join(link)
  }

  take(link: Link): void {
    if (link.before === null) this.first = link.after
    else link.before.after = link.after
    if (link.after === null) this.last = link.before
    else link.after.before = link.before
    link.linked = false
  }

  /** Undoes `take`, if everything that came after it has been undone. */
  putBack(link: Link): void {
    this.join(link)
  }

  *[Symbol.iterator](): Generator<IndexedClaim> {
    for (let link = this.first; link !== null; link = link.after) yield link.claim
  }

  private join(link: Link): void {
    if (link.before === null) this.first = link
    else link.before.after = link
    if (link.after === null) this.last = link
    else link.after.before = link
    link.linked = true
  }
}
