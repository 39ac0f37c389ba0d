import type { Waiter } from './waiter.ts'

/** Waiters in order of arrival, as a linked list: each can leave at constant cost. */
export class WaiterList {
  first: Waiter | null = null
  length = 0
  private last: Waiter | null = null
  private lastNumber = 0

  push(waiter: Waiter): void {
    waiter.number = ++this.lastNumber
    waiter.before = this.last
    if (this.last === null) this.first = waiter
    else this.last.after = waiter
    this.last = waiter
    this.length++
  }

  remove(waiter: Waiter): void {
    const { before, after } = waiter
    if (before === null) this.first = after
    else before.after = after
    if (after === null) this.last = before
    else after.before = before
    waiter.before = null
    waiter.after = null
    this.length--
  }

  /** An upper bound of the waiters before it: some between may have left. */
  ahead(waiter: Waiter): number {
    return this.first === null ? 0 : waiter.number - this.first.number
  }

  /** Empties the list and returns its waiters. */
  drain(): readonly Waiter[] {
    const all: Waiter[] = []
    for (let waiter = this.first; waiter !== null; waiter = this.first) {
      this.remove(waiter)
      all.push(waiter)
    }
    return all
  }
}
