import { TimerHeap } from '../../../core/calls/timer-heap.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { SPARE_TOKENS, tokenOf } from '../../../model/index.ts'
import { CLAIMS_PER_POLL, type ClaimStatus, type KeyTable, nameOfClaim } from './database.ts'
import { positionOfTicket } from './key-snapshot.ts'
import type { LocalWaiter, LocalWaiters } from './local-waiters.ts'

const SHORTEST_MS = 5
const LONGEST_MS = 500
/** A waiter polls after this share of the time until its expected turn. */
const SHARE_OF_TURN = 1 / 3
/** The longer a queue has not moved, the longer its waiters pause between polls. */
const SHARE_OF_STANDSTILL = 1 / 40

/**
 * Polls for the waiting claims of this process where the database pushes no notifications, with one statement for all that writes
 * nothing. The head of a queue polls often, the others as seldom as the pace of the queue allows.
 */
export class Poller {
  private readonly table: KeyTable
  private readonly waiters: LocalWaiters
  private readonly runtime: Runtime
  private readonly timers: TimerHeap
  private looking = false
  private on = false

  constructor(table: KeyTable, waiting: LocalWaiters, runtime: Runtime) {
    this.table = table
    this.waiters = waiting
    this.runtime = runtime
    this.timers = new TimerHeap(runtime, true, () => void this.poll())
  }

  /** Off as long as the database pushes notifications. */
  switch(on: boolean): void {
    this.on = on
    this.timers.clear()
    this.waiters.due.clear()
    for (const waiter of this.waiters.byId.values()) this.schedule(waiter)
  }

  /** Schedules the next poll of a waiter by its current position. */
  schedule(waiter: LocalWaiter): void {
    if (!this.on) return
    const nowMs = this.runtime.nowMs()
    const delayMs = this.delayMs(waiter, nowMs)
    // The times of patient waiters are rounded, so that one statement serves many of them.
    const stepMs = 2 ** Math.floor(Math.log2(delayMs / 2))
    this.timers.set(waiter, Math.ceil((nowMs + delayMs) / stepMs) * stepMs)
  }

  close(): void {
    this.on = false
    this.timers.clear()
  }

  private delayMs({ position, paceMs, movedAtMs }: LocalWaiter, nowMs: number): number {
    const turnMs = (position - 1) * Math.max(paceMs, SHORTEST_MS) * SHARE_OF_TURN
    const wantedMs = Math.max(SHORTEST_MS, turnMs, (nowMs - movedAtMs) * SHARE_OF_STANDSTILL * position)
    return Math.min(wantedMs, LONGEST_MS) * (0.75 + this.runtime.random() / 4)
  }

  private async poll(): Promise<void> {
    if (this.looking) return
    this.looking = true
    while (this.waiters.due.size > 0) await this.pollSome(this.takeDue())
    this.looking = false
  }

  private takeDue(): readonly LocalWaiter[] {
    const { due } = this.waiters
    const taken: LocalWaiter[] = []
    for (const waiter of due) {
      if (taken.length === CLAIMS_PER_POLL) break
      taken.push(waiter)
      due.delete(waiter)
    }
    return taken
  }

  private async pollSome(due: readonly LocalWaiter[]): Promise<void> {
    const { byId } = this.waiters
    try {
      const { statuses, heads, clock } = await this.table.find(due)
      for (const { id, key } of due) {
        if (!byId.has(id)) continue
        const status = statuses.get(nameOfClaim(key, id))
        if (status?.kind === 'waiting' && status.expiresAtMs > clock.nowMs)
          this.waiters.setPosition(
            id,
            key,
            positionOfTicket(status.ticket, heads.get(key) ?? []),
            this.runtime.nowMs(),
          )
        else this.waiters.deliver(noticeOf(id, key, status, heads.has(key), clock.nowMs))
      }
    } catch {
      // The claims retry by themselves, only later.
    }
    for (const waiter of due) if (waiter.index < 0 && byId.get(waiter.id) === waiter) this.schedule(waiter)
  }
}

/** The notification that a claim which no longer waits has missed. */
function noticeOf(
  id: string,
  key: string,
  status: ClaimStatus | undefined,
  contended: boolean,
  nowMs: number,
): StoreNotice {
  if (status?.kind !== 'held' || status.expiresAtMs <= nowMs) return { kind: 'retry', id, key }
  return {
    kind: 'granted',
    id,
    key,
    token: tokenOf(status.seq),
    spare: status.owner === null ? SPARE_TOKENS : 0,
    contended,
    storeTimeMs: status.sinceMs,
    lifeMs: status.expiresAtMs - status.sinceMs,
  }
}
