import type { Runtime, Timer } from '../runtime.ts'

/** Something that wants to be called at a time. `place` belongs to the heap: -1 when it is not in one. */
export interface Alarm {
  dueMs: number
  place: number
  ring(nowMs: number): void
}

/** How many alarms ring in one turn of the event loop, so that many at once do not block it. */
const RINGS_PER_TURN = 500

/** Many alarms on one timer: a binary heap whose entries know their place, so that removal is cheap. */
export class Alarms {
  private readonly heap: Alarm[] = []
  private readonly runtime: Runtime
  private readonly background: boolean
  private readonly afterTurn: () => void
  private timer: Timer | null = null
  private armedForMs = Number.POSITIVE_INFINITY
  private rung = 0

  /** `background` alarms do not keep the process alive; `afterTurn` runs once after the alarms of a turn rang. */
  constructor(runtime: Runtime, background: boolean, afterTurn: () => void = () => {}) {
    this.runtime = runtime
    this.background = background
    this.afterTurn = afterTurn
  }

  get size(): number {
    return this.heap.length
  }

  /** Everything that is set, in no order. */
  all(): readonly Alarm[] {
    return [...this.heap]
  }

  /** Sets an alarm, or moves one that is set already. */
  set(alarm: Alarm, dueMs: number): void {
    alarm.dueMs = dueMs
    if (this.heap.length === 0 && !this.background) this.timer?.keepAlive(true)
    if (alarm.place < 0) {
      alarm.place = this.heap.length
      this.heap.push(alarm)
    }
    this.sink(this.rise(alarm.place))
    this.arm()
  }

  remove(alarm: Alarm): void {
    const { place } = alarm
    if (place < 0) return
    alarm.place = -1
    const last = this.heap.pop() as Alarm
    if (last !== alarm) {
      this.heap[place] = last
      last.place = place
      this.sink(this.rise(place))
    }
    // A timer that finds nothing to do is cheaper than one that is set and cleared for every lease.
    if (this.heap.length === 0 && !this.background) this.timer?.keepAlive(false)
  }

  clear(): void {
    for (const alarm of this.heap) alarm.place = -1
    this.heap.length = 0
    this.disarm()
  }

  /** The alarm that rings stands for so many more, and the turn ends the sooner. */
  countMore(alarms: number): void {
    this.rung += alarms
  }

  /** How late the timer is: more than a little means that the event loop stood still. */
  latenessMs(nowMs: number): number {
    return Math.max(0, nowMs - this.armedForMs)
  }

  private arm(): void {
    const first = this.heap[0]
    if (first === undefined || first.dueMs >= this.armedForMs) return
    this.timer?.clear()
    this.armedForMs = first.dueMs
    this.timer = this.runtime.setTimer(
      this.fire,
      Math.max(0, first.dueMs - this.runtime.nowMs()),
      this.background,
    )
  }

  private disarm(): void {
    this.timer?.clear()
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
  }

  private readonly fire = (): void => {
    const nowMs = this.runtime.nowMs()
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
    this.rung = 0
    while (this.rung < RINGS_PER_TURN) {
      const first = this.heap[0]
      if (first === undefined || first.dueMs > nowMs) break
      this.remove(first)
      this.rung++
      first.ring(nowMs)
    }
    this.afterTurn()
    this.arm()
  }

  private rise(start: number): number {
    const alarm = this.heap[start] as Alarm
    let place = start
    while (place > 0) {
      const parentPlace = (place - 1) >> 1
      const parent = this.heap[parentPlace] as Alarm
      if (parent.dueMs <= alarm.dueMs) break
      this.heap[place] = parent
      parent.place = place
      place = parentPlace
    }
    this.heap[place] = alarm
    alarm.place = place
    return place
  }

  private sink(start: number): void {
    const alarm = this.heap[start] as Alarm
    let place = start
    for (;;) {
      let childPlace = place * 2 + 1
      if (childPlace >= this.heap.length) break
      const right = this.heap[childPlace + 1]
      if (right !== undefined && right.dueMs < (this.heap[childPlace] as Alarm).dueMs) childPlace++
      const child = this.heap[childPlace] as Alarm
      if (child.dueMs >= alarm.dueMs) break
      this.heap[place] = child
      child.place = place
      place = childPlace
    }
    this.heap[place] = alarm
    alarm.place = place
  }
}
