import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import {
  type Clock,
  EMPTY,
  isForgettable,
  type KeyLetter,
  type KeyState,
  type RecordState,
  type Rules,
} from '../../model/index.ts'

/** A waiter of this process cannot die apart from it, so an offer lives as long as any grant. Nothing need be
 *  remembered of a free key either: the stamp rises with every step, whatever the key. */
const RULES: Rules = { offerMs: Number.POSITIVE_INFINITY, keepSeqMs: 0 }

/** Fewer keys than this are never looked through. */
const KEPT_KEYS = 256
const STEPS_PER_SWEEP = 64
/** More than a step can add, so that what is forgotten keeps up with what is remembered. */
const KEYS_PER_SWEEP = 128

/** What one or more memory stores share: the claims, the records and who listens. */
export class MemoryWorld {
  readonly rules: Rules
  readonly records = new Map<string, RecordState>()
  readonly listeners = new Map<string, Set<(notice: StoreNotice) => void>>()
  private readonly states = new Map<string, KeyState>()
  private readonly runtime: Runtime
  private lastStampUs: number
  private steps = 0
  private sweepAt = KEPT_KEYS
  private inboxes = 0
  private sweeping: Iterator<[string, KeyState]> | null = null

  /** Other rules let a test see offers as a store of several processes makes them. */
  constructor(runtime: Runtime, rules: Rules = RULES) {
    this.runtime = runtime
    this.rules = rules
    this.lastStampUs = runtime.wallMs() * 1000
  }

  newInbox(): string {
    return String(++this.inboxes)
  }

  /** The stamp begins at the wall clock and counts on: no claim of this world outlives the process. */
  clock(): Clock {
    return { nowMs: Math.floor(this.runtime.nowMs()), stampUs: ++this.lastStampUs }
  }

  get(key: string): KeyState {
    return this.states.get(key) ?? EMPTY
  }

  put(key: string, state: KeyState): void {
    if (state.seq > this.lastStampUs) this.lastStampUs = state.seq
    this.states.set(key, state)
    if (this.states.size > this.sweepAt && ++this.steps % STEPS_PER_SWEEP === 0) this.sweep()
  }

  keys(): string[] {
    return [...this.states.keys()]
  }

  deliver(letters: readonly KeyLetter[]): void {
    for (const { inbox, notice, key } of letters) {
      const listeners = inbox === null ? undefined : this.listeners.get(inbox)
      if (listeners === undefined) continue
      const addressed: StoreNotice = { ...notice, key }
      for (const listener of listeners) this.runtime.defer(() => listener(addressed))
    }
  }

  /** Forgets, a few keys at a time, what nobody holds or waits for: a hot key would pay for being forgotten each time. */
  private sweep(): void {
    const nowMs = Math.floor(this.runtime.nowMs())
    if (this.sweeping === null) this.sweeping = this.states.entries()
    for (let checked = 0; checked < KEYS_PER_SWEEP; checked++) {
      const entry = this.sweeping.next()
      if (entry.done === true) {
        this.sweeping = null
        // What was left is in use; it is looked through again when as much has come.
        this.sweepAt = Math.max(KEPT_KEYS, this.states.size * 2)
        return
      }
      const [key, state] = entry.value
      if (isForgettable(state, nowMs)) this.states.delete(key)
    }
  }
}
