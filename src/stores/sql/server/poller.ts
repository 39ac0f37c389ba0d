import type { Runtime, Timer } from '../../../core/runtime.ts'
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
  private timer: Timer | null = null
  private armedForMs = Number.POSITIVE_INFINITY
  private looking = false
  private on = false

  constructor(table: KeyTable, waiting: Waiting, runtime: Runtime) {
    this.table = table
    this.waiting = waiting
    this.runtime = runtime
  }

  /** Off as long as the database tells by itself. */
  switch(on: boolean): void {
    this.on = on
    this.arm()
  }

  /** Called when a claim has come to wait. */
  arm(): void {
    if (!this.on || this.looking) return
    const nowMs = this.runtime.nowMs()
    let soonestMs = Number.POSITIVE_INFINITY
    for (const waiter of this.waiting.waiters.values()) {
      waiter.lookAtMs ??= nowMs + this.delayMs(waiter, nowMs)
      soonestMs = Math.min(soonestMs, waiter.lookAtMs)
    }
    if (soonestMs >= this.armedForMs) return
    this.disarm()
    this.armedForMs = soonestMs
    this.timer = this.runtime.setTimer(() => void this.look(), Math.max(0, soonestMs - nowMs), true)
  }

  close(): void {
    this.on = false
    this.disarm()
  }

  private disarm(): void {
    this.timer?.clear()
    this.timer = null
    this.armedForMs = Number.POSITIVE_INFINITY
  }

  private delayMs({ position, paceMs, movedAtMs }: Waiter, nowMs: number): number {
    const turnMs = (position - 1) * Math.max(paceMs, SHORTEST_MS) * SHARE_OF_TURN
    const wantedMs = Math.max(SHORTEST_MS, turnMs, (nowMs - movedAtMs) * SHARE_OF_STANDSTILL * position)
    return Math.min(wantedMs, LONGEST_MS) * (0.75 + this.runtime.random() / 2)
  }

  private async look(): Promise<void> {
    this.disarm()
    const due = this.due()
    if (due.length === 0) {
      this.arm()
      return
    }
    this.looking = true
    try {
      const { places, heads, clock } = await this.table.find(due)
      for (const { id, key } of due) {
        if (!this.waiting.waiters.has(id)) continue
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
    for (const { id } of due) {
      const waiter = this.waiting.waiters.get(id)
      if (waiter !== undefined) waiter.lookAtMs = null
    }
    this.looking = false
    this.arm()
  }

  /** The waiters that look now, those that are late for it first. */
  private due(): readonly { key: string; id: string }[] {
    const nowMs = this.runtime.nowMs()
    const due = [...this.waiting.waiters].filter(([, { lookAtMs }]) => (lookAtMs ?? nowMs) <= nowMs)
    due.sort(([, one], [, other]) => (one.lookAtMs ?? nowMs) - (other.lookAtMs ?? nowMs))
    return due.slice(0, CLAIMS_PER_LOOK).map(([id, { key }]) => ({ id, key }))
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
