/** Something that happens at a time. Of two at the same time, the one that was scheduled first happens first. */
export interface Scheduled {
  readonly atUs: number
  readonly sequence: number
  readonly task: () => void
  /** Runs no client's code, so that no promise job can follow from it. */
  readonly quiet: boolean
  cancelled: boolean
}

/** A binary heap of events by time, then by sequence number. */
export class Heap {
  private readonly items: Scheduled[] = []

  get size(): number {
    return this.items.length
  }

  peek(): Scheduled | undefined {
    return this.items[0]
  }

  push(item: Scheduled): void {
    const { items } = this
    let place = items.length
    items.push(item)
    while (place > 0) {
      const parentPlace = (place - 1) >> 1
      const parent = items[parentPlace] as Scheduled
      if (!earlier(item, parent)) break
      items[place] = parent
      place = parentPlace
    }
    items[place] = item
  }

  pop(): Scheduled | undefined {
    const { items } = this
    const first = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return first
    let place = 0
    for (;;) {
      let childPlace = place * 2 + 1
      if (childPlace >= items.length) break
      const right = items[childPlace + 1]
      if (right !== undefined && earlier(right, items[childPlace] as Scheduled)) childPlace++
      const child = items[childPlace] as Scheduled
      if (!earlier(child, last)) break
      items[place] = child
      place = childPlace
    }
    items[place] = last
    return first
  }
}

function earlier(one: Scheduled, other: Scheduled): boolean {
  return one.atUs < other.atUs || (one.atUs === other.atUs && one.sequence < other.sequence)
}
