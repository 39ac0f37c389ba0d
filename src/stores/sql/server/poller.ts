import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { StoreNotice } from '../../../core/store.ts'
import { type KeyState, SPARE_TOKENS, tokenOf } from '../../../model/index.ts'
import { stateOf } from './rows.ts'
import { KEYS_PER_STATEMENT } from './rules.ts'
import type { KeyTable } from './tables.ts'
import type { Waiting } from './waiting.ts'

const SHORTEST_MS = 8
const LONGEST_MS = 500
/** Who has waited for a second can wait for another fortieth of it. */
const SHARE_OF_WAIT = 1 / 40
/** The place in the line that has it from here on is not looked after: the claim keeps its place by itself. */
const LAST_PLACE = 8

/**
 * Looks after the claims of this process that wait, where nobody tells them: one statement for all of them, the more often
 * the nearer they are to their turn and the shorter they have waited.
 */
export class Poller {
  private readonly table: KeyTable
  private readonly waiting: Waiting
  private readonly runtime: Runtime
  private timer: Timer | null = null
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
    if (!this.on || this.looking || this.timer !== null) return
    const delayMs = this.delayMs()
    if (delayMs === null) return
    this.timer = this.runtime.setTimer(() => void this.look(), delayMs, true)
  }

  close(): void {
    this.on = false
    this.timer?.clear()
    this.timer = null
  }

  private delayMs(): number | null {
    const nowMs = this.runtime.nowMs()
    let soonestMs = Number.POSITIVE_INFINITY
    for (const { position, sinceMs } of this.near())
      soonestMs = Math.min(soonestMs, Math.max(SHORTEST_MS * position, (nowMs - sinceMs) * SHARE_OF_WAIT))
    if (soonestMs === Number.POSITIVE_INFINITY) return null
    return Math.min(soonestMs, LONGEST_MS) * (0.75 + this.runtime.random() / 2)
  }

  private *near() {
    for (const place of this.waiting.places.values()) if (place.position < LAST_PLACE) yield place
  }

  private async look(): Promise<void> {
    this.timer = null
    const keys = new Set<string>()
    for (const { key } of this.near()) if (keys.size < KEYS_PER_STATEMENT) keys.add(key)
    if (keys.size === 0) return
    this.looking = true
    try {
      const { rows, clock } = await this.table.look([...keys])
      for (const [id, { key }] of this.waiting.places) {
        if (!keys.has(key)) continue
        const notice = noticeOf(id, key, stateOf(key, rows.get(key)), clock.nowMs)
        if (notice !== null) this.waiting.tell(notice)
      }
    } catch {
      // The claims look again by themselves, only later.
    }
    this.looking = false
    this.arm()
  }
}

/** What the claim would have been told; null as long as it stands in the line. */
function noticeOf(id: string, key: string, state: KeyState, nowMs: number): StoreNotice | null {
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
  return state.line.some(({ claim }) => claim.id === id) ? null : { kind: 'lost', id, key, cause: 'expired' }
}
