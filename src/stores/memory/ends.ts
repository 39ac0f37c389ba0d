import type { Link } from './chain.ts'

/** Which of many links ends first: a heap in which a renewal changes nothing until the end that it moved comes near. */
export class Ends {
  private readonly heap: Link[] = []
  private gone = 0

  add(link: Link): void {
    if (link.filedMs !== null) {
      // It was taken out and put back, perhaps with an earlier end than it had meanwhile.
      this.gone--
      if (link.filedMs > link.claim.expiresAtMs) this.rebuild()
      return
    }
    link.filedMs = link.claim.expiresAtMs
    this.heap.push(link)
    this.rise(this.heap.length - 1)
  }

  /** Called after a link was taken out of its chain. */
  forget(): void {
    this.gone++
    if (this.gone * 2 > this.heap.length && this.heap.length > 64) this.rebuild()
  }

  first(): Link | null {
    for (let top = this.heap[0]; top !== undefined; top = this.heap[0]) {
      if (!top.linked) {
        this.gone--
        this.drop()
      } else if ((top.filedMs as number) < top.claim.expiresAtMs) {
        top.filedMs = top.claim.expiresAtMs
        this.sink(0)
      } else {
        return top
      }
    }
    return null
  }

  /** Those that have ended by `nowMs`, at most so many. They stay. */
  until(nowMs: number, most: number): Link[] {
    const ended: Link[] = []
    while (ended.length < most) {
      const first = this.first()
      if (first === null || first.claim.expiresAtMs > nowMs) break
      ended.push(first)
      this.drop()
    }
    for (const link of ended) this.add(link)
    return ended
  }

  private drop(): void {
    const top = this.heap[0] as Link
    top.filedMs = null
    const last = this.heap.pop() as Link
    if (this.heap.length === 0) return
    this.heap[0] = last
    this.sink(0)
  }

  private rebuild(): void {
    const links = this.heap.splice(0)
    this.gone = 0
    for (const link of links) {
      link.filedMs = null
      if (link.linked) this.add(link)
    }
  }

  private rise(from: number): void {
    const { heap } = this
    const link = heap[from] as Link
    let at = from
    while (at > 0) {
      const parentAt = (at - 1) >> 1
      const parent = heap[parentAt] as Link
      if ((parent.filedMs as number) <= (link.filedMs as number)) break
      heap[at] = parent
      at = parentAt
    }
    heap[at] = link
  }

  private sink(from: number): void {
    const { heap } = this
    const link = heap[from] as Link
    const key = link.filedMs as number
    let at = from
    for (;;) {
      let childAt = 2 * at + 1
      if (childAt >= heap.length) break
      const other = heap[childAt + 1]
      if (other !== undefined && (other.filedMs as number) < ((heap[childAt] as Link).filedMs as number))
        childAt++
      const child = heap[childAt] as Link
      if ((child.filedMs as number) >= key) break
      heap[at] = child
      at = childAt
    }
    heap[at] = link
  }
}
