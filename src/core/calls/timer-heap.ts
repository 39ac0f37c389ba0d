import type { Runtime, Timer } from '../runtime.ts'

/** A task with a due time. `index` belongs to the heap: -1 when the entry is not in one. */
export interface TimerEntry {
  dueMs: number
  index: number
  fire(nowMs: number): void
}

/** How many entries fire in one turn of the event loop, so that many at once do not block it. */
const FIRED_PER_TURN = 500

/** Many entries on one timer: a binary heap whose entries know their index, so that removal is cheap. */
export class TimerHeap {
  private readonly heap: TimerEntry[] = []
  private readonly runtime: Runtime
  private readonly background: boolean
  private readonly afterTurn: () => void
  private timer: Timer | null = null
  private armedForMs = Number.POSITIVE_INFINITY
  private fired = 0

  /** `background` entries do not keep the process alive; `afterTurn` runs once after the entries of a turn fired. */
  constructor(runtime: Runtime, background: boolean, afterTurn: () => void = () => {}) {
    this.runtime = runtime
    this.background = background
    this.afterTurn = afterTurn
  }

  get size(): number {
    return this.heap.length
  }

  /** All entries, in no order. */
  all(): readonly TimerEntry[] {
    return [...this.heap]
  }

  /** Adds an entry, or moves one that is in the heap already. */
  set(entry: TimerEntry, dueMs: number): void {
    entry.dueMs = dueMs
    if (this.heap.length === 0 && !this.background) this.timer?.keepAlive(true)
    if (entry.index < 0) {
      entry.index = this.heap.length
      this.heap.push(entry)
    }
    this.sink(this.rise(entry.index))
    this.arm()
  }

  remove(entry: TimerEntry): void {
    const { index } = entry
    if (index < 0) return
    entry.index = -1
    const last = this.heap.pop() as TimerEntry
    if (last !== entry) {
      this.heap[index] = last
      last.index = index
      this.sink(this.rise(index))
    }
    // A timer that finds nothing to do is cheaper than one that is set and cleared for every lease.
    if (this.heap.length === 0 && !this.background) this.timer?.keepAlive(false)
  }

  clear(): void {
    for (const entry of this.heap) entry.index = -1
    this.heap.length = 0
    this.timer?.clear()
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
  }

  /** The entry that fires does the work of so many, and the turn ends sooner. */
  countMore(entries: number): void {
    this.fired += entries
  }

  private arm(): void {
    const first = this.heap[0]
    if (first === undefined || first.dueMs >= this.armedForMs) return
    this.timer?.clear()
    this.armedForMs = first.dueMs
    const delayMs = Math.max(0, first.dueMs - this.runtime.nowMs())
    this.timer = this.runtime.setTimer(this.fire, delayMs, this.background)
  }

  private readonly fire = (): void => {
    const nowMs = this.runtime.nowMs()
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
    this.fired = 0
    while (this.fired < FIRED_PER_TURN) {
      const first = this.heap[0]
      if (first === undefined || first.dueMs > nowMs) break
      this.remove(first)
      this.fired++
      first.fire(nowMs)
    }
    this.afterTurn()
    this.arm()
  }

  private rise(start: number): number {
    const entry = this.heap[start] as TimerEntry
    let index = start
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = this.heap[parentIndex] as TimerEntry
      if (parent.dueMs <= entry.dueMs) break
      this.heap[index] = parent
      parent.index = index
      index = parentIndex
    }
    this.heap[index] = entry
    entry.index = index
    return index
  }

  private sink(start: number): void {
    const entry = this.heap[start] as TimerEntry
    let index = start
    for (;;) {
      let childIndex = index * 2 + 1
      if (childIndex >= this.heap.length) break
      const right = this.heap[childIndex + 1]
      if (right !== undefined && right.dueMs < (this.heap[childIndex] as TimerEntry).dueMs) childIndex++
      const child = this.heap[childIndex] as TimerEntry
      if (child.dueMs >= entry.dueMs) break
      this.heap[index] = child
      child.index = index
      index = childIndex
    }
    this.heap[index] = entry
    entry.index = index
  }
}
