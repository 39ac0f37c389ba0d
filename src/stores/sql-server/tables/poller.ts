import { TimerHeap } from '../../../core/calls/timer-heap.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { SPARE_TOKENS, tokenOf } from '../../../model/index.ts'
import { positionOfTicket } from './excerpts.ts'
import { CLAIMS_PER_LOOK } from './rules.ts'
import { type KeyTable, type Place, placeName } from './tables.ts'
import type { Waiter, Waiting } from './waiting.ts'

const SHORTEST_MS = 5
const LONGEST_MS = 500
/** A waiter looks so much earlier than the pace of its queue lets it expect its turn. */
const SHARE_OF_TURN = 1 / 3
/** The next in a queue that has not moved for a second can wait for another fortieth of it. */
const SHARE_OF_STANDSTILL = 1 / 40

/**
 * Looks after the claims of this process that wait, where nobody tells them: one statement that writes nothing for all of them. The first
 * of a queue look often; the others as seldom as the pace of the queue lets them.
 */
export class Poller {
  private readonly table: KeyTable
  private readonly waiting: Waiting
  private readonly runtime: Runtime
  private readonly timers: TimerHeap
  private looking = false
  private on = false

  constructor(table: KeyTable, waiting: Waiting, runtime: Runtime) {
    this.table = table
    this.waiting = waiting
    this.runtime = runtime
    this.timers = new TimerHeap(runtime, true, () => void this.look())
  }

  /** Off as long as the database tells by itself. */
  switch(on: boolean): void {
    this.on = on
    this.timers.clear()
    this.waiting.due.clear()
    for (const waiter of this.waiting.waiters.values()) this.expect(waiter)
  }

  /** From now on it is looked after, with its position as it is now. */
  expect(waiter: Waiter): void {
    if (!this.on) return
    const nowMs = this.runtime.nowMs()
    const delayMs = this.delayMs(waiter, nowMs)
    // Waiters that have time look in step, so that one statement serves many of them.
    const stepMs = 2 ** Math.floor(Math.log2(delayMs / 2))
    this.timers.set(waiter, Math.ceil((nowMs + delayMs) / stepMs) * stepMs)
  }

  close(): void {
    this.on = false
    this.timers.clear()
  }

  private delayMs({ position, paceMs, movedAtMs }: Waiter, nowMs: number): number {
    const turnMs = (position - 1) * Math.max(paceMs, SHORTEST_MS) * SHARE_OF_TURN
    const wantedMs = Math.max(SHORTEST_MS, turnMs, (nowMs - movedAtMs) * SHARE_OF_STANDSTILL * position)
    return Math.min(wantedMs, LONGEST_MS) * (0.75 + this.runtime.random() / 4)
  }

  private async look(): Promise<void> {
    if (this.looking) return
    this.looking = true
    while (this.waiting.due.size > 0) await this.lookAt(this.takeDue())
    this.looking = false
  }

  private takeDue(): readonly Waiter[] {
    const { due } = this.waiting
    const taken: Waiter[] = []
    for (const waiter of due) {
      if (taken.length === CLAIMS_PER_LOOK) break
      taken.push(waiter)
      due.delete(waiter)
    }
    return taken
  }

  private async lookAt(due: readonly Waiter[]): Promise<void> {
    const { waiters } = this.waiting
    try {
      const { places, heads, clock } = await this.table.find(due)
      for (const { id, key } of due) {
        if (!waiters.has(id)) continue
        const place = places.get(placeName(key, id))
        if (place?.kind === 'waiting' && place.expiresAtMs > clock.nowMs)
          this.waiting.place(
            id,
            key,
            positionOfTicket(place.ticket, heads.get(key) ?? []),
            this.runtime.nowMs(),
          )
        else this.waiting.tell(noticeOf(id, key, place, heads.has(key), clock.nowMs))
      }
    } catch {
      // The claims look again by themselves, only later.
    }
    for (const waiter of due) if (waiter.index < 0 && waiters.get(waiter.id) === waiter) this.expect(waiter)
  }
}

/** What a claim that no longer waits would have been told. */
function noticeOf(
  id: string,
  key: string,
  place: Place | undefined,
  contended: boolean,
  nowMs: number,
): StoreNotice {
  if (place?.kind !== 'held' || place.expiresAtMs <= nowMs) return { kind: 'retry', id, key }
  return {
    kind: 'granted',
    id,
    key,
    token: tokenOf(place.seq),
    spare: place.owner === null ? SPARE_TOKENS : 0,
    contended,
    storeTimeMs: place.sinceMs,
    lifeMs: place.expiresAtMs - place.sinceMs,
  }
}
