import type { ClaimNode } from './claim-list.ts'

/** Claims by expiry. A renewal does not touch the heap: the new expiry is read when the old one reaches the top. */
export class ExpiryHeap {
  private readonly heap: ClaimNode[] = []
  private gone = 0

  add(node: ClaimNode): void {
    if (node.heapMs !== null) {
      // It was removed and put back, perhaps with an earlier expiry than it had meanwhile.
      this.gone--
      if (node.heapMs > node.claim.expiresAtMs) this.rebuild()
      return
    }
    node.heapMs = node.claim.expiresAtMs
    this.heap.push(node)
    this.rise(this.heap.length - 1)
  }

  /** Called after a node was removed from its list. */
  forget(): void {
    this.gone++
    if (this.gone * 2 > this.heap.length && this.heap.length > 64) this.rebuild()
  }

  first(): ClaimNode | null {
    for (let top = this.heap[0]; top !== undefined; top = this.heap[0]) {
      if (!top.linked) {
        this.gone--
        this.drop()
      } else if ((top.heapMs as number) < top.claim.expiresAtMs) {
        top.heapMs = top.claim.expiresAtMs
        this.sink(0)
      } else {
        return top
      }
    }
    return null
  }

  /** At most `most` nodes that have expired by `nowMs`. They stay in the heap. */
  until(nowMs: number, most: number): ClaimNode[] {
    const expired: ClaimNode[] = []
    while (expired.length < most) {
      const first = this.first()
      if (first === null || first.claim.expiresAtMs > nowMs) break
      expired.push(first)
      this.drop()
    }
    for (const node of expired) this.add(node)
    return expired
  }

  private drop(): void {
    const top = this.heap[0] as ClaimNode
    top.heapMs = null
    const last = this.heap.pop() as ClaimNode
    if (this.heap.length === 0) return
    this.heap[0] = last
    this.sink(0)
  }

  private rebuild(): void {
    const nodes = this.heap.splice(0)
    this.gone = 0
    for (const node of nodes) {
      node.heapMs = null
      if (node.linked) this.add(node)
    }
  }

  private rise(from: number): void {
    const { heap } = this
    const node = heap[from] as ClaimNode
    let at = from
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = heap[parentAt] as ClaimNode
      if ((parent.heapMs as number) <= (node.heapMs as number)) break
      heap[at] = parent
      at = parentAt
    }
    heap[at] = node
  }

  private sink(from: number): void {
    const { heap } = this
    const node = heap[from] as ClaimNode
    const key = node.heapMs as number
    let at = from
    for (;;) {
      let childAt = 2 * at + 1
      if (childAt >= heap.length) break
      const other = heap[childAt + 1]
      if (other !== undefined && (other.heapMs as number) < ((heap[childAt] as ClaimNode).heapMs as number))
        childAt++
      const child = heap[childAt] as ClaimNode
      if ((child.heapMs as number) >= key) break
      heap[at] = child
      at = childAt
    }
    heap[at] = node
  }
}
