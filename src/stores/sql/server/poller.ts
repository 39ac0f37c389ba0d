import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { type KeyState, SPARE_TOKENS, tokenOf } from '../../../model/index.ts'
import { stateOf } from './rows.ts'
import { KEYS_PER_STATEMENT } from './rules.ts'
import type { KeyTable } from './tables.ts'
import type { Place, Waiting } from './waiting.ts'

const SHORTEST_MS = 5
const LONGEST_MS = 500
/** Who has waited for a second can wait for another fortieth of it. */
const SHARE_OF_WAIT = 1 / 40

/**
 * Looks after the claims of this process that wait, where nobody tells them: one statement for all of them, the more often
 * the nearer they are to their turn and the shorter they have waited.
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
    for (const place of this.waiting.places.values()) {
      place.lookAtMs ??= nowMs + this.delayMs(place, nowMs)
      soonestMs = Math.min(soonestMs, place.lookAtMs)
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

  private delayMs({ position, sinceMs }: Place, nowMs: number): number {
    const wantedMs = Math.max(SHORTEST_MS * position, (nowMs - sinceMs) * SHARE_OF_WAIT)
    return Math.min(wantedMs, LONGEST_MS) * (0.75 + this.runtime.random() / 2)
  }

  private async look(): Promise<void> {
    this.disarm()
    const keys = this.dueKeys()
    if (keys.size === 0) {
      this.arm()
      return
    }
    this.looking = true
    try {
      const { rows, clock } = await this.table.look([...keys])
      for (const [id, place] of this.waiting.places) {
        if (!keys.has(place.key)) continue
        const state = stateOf(place.key, rows.get(place.key))
        const before = state.line.findIndex(({ claim }) => claim.id === id)
        if (before < 0) this.waiting.tell(noticeOf(id, place.key, state, clock.nowMs))
        else place.position = before + 1
      }
    } catch {
      // The claims look again by themselves, only later.
    }
    for (const place of this.waiting.places.values()) if (keys.has(place.key)) place.lookAtMs = null
    this.looking = false
    this.arm()
  }

  /** The keys whose turn it is, those that have waited longest for it first. */
  private dueKeys(): ReadonlySet<string> {
    const nowMs = this.runtime.nowMs()
    const due = [...this.waiting.places.values()].filter(({ lookAtMs }) => (lookAtMs ?? nowMs) <= nowMs)
    due.sort((one, other) => (one.lookAtMs ?? nowMs) - (other.lookAtMs ?? nowMs))
    const keys = new Set<string>()
    for (const { key } of due) if (keys.size < KEYS_PER_STATEMENT) keys.add(key)
    return keys
  }
}

/** What a claim that no longer stands in the line would have been told. */
function noticeOf(id: string, key: string, state: KeyState, nowMs: number): StoreNotice {
  for (const { owner, seq, members } of state.holds) {
    const member = members.find((held) => held.id === id)
    if (member === undefined || member.expiresAtMs <= nowMs) continue
    return {
      kind: 'granted',
      id,
      key,
      token: tokenOf(seq),
      spare: owner === null ? SPARE_TOKENS : 0,
      contended: state.line.length > 0,
      storeTimeMs: member.sinceMs,
      lifeMs: member.expiresAtMs - member.sinceMs,
    }
  }
  return { kind: 'lost', id, key, cause: 'expired' }
}
