import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import {
  type Answer,
  alive,
  type Claim,
  type ClaimAnswer,
  type Clock,
  EMPTY,
  type Event,
  heldBack,
  indexedStep,
  isForgettable,
  type KeyNotification,
  type KeyState,
  type Notification,
  type RecordState,
  type Rules,
  step,
} from '../../model/index.ts'
import { IndexedKey } from './indexed-key.ts'

/** A waiter of this process cannot die without it, so an offer lives as long as any grant. A free key can be forgotten,
 *  because the stamp rises with every step on any key. */
const RULES: Rules = { offerMs: Number.POSITIVE_INFINITY, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY }

/** Up to this many keys there is no sweep. */
const KEPT_KEYS = 256
const STEPS_PER_SWEEP = 64
/** More than the steps between two sweeps can add. */
const KEYS_PER_SWEEP = 128
/** Two are checked per write, so that expired records are gone after as many writes as there are records. */
const RECORDS_PER_WRITE = 2

/** A key with more claims than this is indexed; for a handful of claims an index costs more than it saves. */
const MOST_PLAIN_CLAIMS = 8
const FEW_CLAIMS = 2

type Stored = KeyState | IndexedKey

/** The state that one or more memory stores share: claims, records and listeners. */
export class MemoryWorld {
  readonly rules: Rules
  readonly records = new Map<string, RecordState>()
  private recordsSeen: Iterator<[string, RecordState]> | null = null
  readonly listeners = new Map<string, Set<(notice: StoreNotice) => void>>()
  private readonly states = new Map<string, Stored>()
  private readonly runtime: Runtime
  private lastStampUs: number
  private steps = 0
  private sweepAt = KEPT_KEYS
  private inboxes = 0
  private sweeping: Iterator<[string, Stored]> | null = null

  /** Tests pass other rules to see short offers, as a store of several processes makes them. */
  constructor(runtime: Runtime, rules: Rules = RULES) {
    this.runtime = runtime
    this.rules = rules
    this.lastStampUs = runtime.wallMs() * 1000
  }

  newInbox(): string {
    return String(++this.inboxes)
  }

  /** The stamp starts at the wall clock and counts up: no claim of this world outlives the process. */
  clock(): Clock {
    return { nowMs: Math.floor(this.runtime.nowMs()), stampUs: ++this.lastStampUs }
  }

  /** Costs O(claims of the key), for operators; `holds` answers for one claim. */
  get(key: string): KeyState {
    const stored = this.states.get(key)
    return stored instanceof IndexedKey ? stored.state(key) : (stored ?? EMPTY)
  }

  holds(key: string, id: string): boolean {
    this.step(key, { kind: 'tick' })
    const stored = this.states.get(key)
    if (stored instanceof IndexedKey) return stored.find(id)?.held === true
    return stored?.holds.some(({ members }) => members.some((member) => member.id === id)) === true
  }

  /** Runs the model's step on one key and delivers its notifications. */
  step<E extends Event>(key: string, event: E, clock = this.clock()): Answer<E> {
    const { answer, notifications } = this.apply(key, event, clock)
    this.tell(key, notifications)
    this.sweepSometimes()
    return answer
  }

  /** The claims of a group are adjacent, and are granted all or none. */
  claim(claims: readonly Claim[], inbox: string): ClaimAnswer[] {
    const answers: ClaimAnswer[] = []
    const clock = this.clock()
    for (let first = 0; first < claims.length; ) {
      const claim = claims[first] as Claim
      let next = first + 1
      if (claim.group !== null) while (claims[next]?.group === claim.group) next++
      if (claim.group === null) answers.push(this.step(claim.key, { kind: 'claim', claim, inbox }, clock))
      else answers.push(...this.claimGroup(claims.slice(first, next), inbox, clock))
      first = next
    }
    return answers
  }

  /** Writes a record, and removes expired ones among a few others. */
  putRecord(key: string, record: RecordState): void {
    this.records.set(key, record)
    const nowMs = Math.floor(this.runtime.nowMs())
    for (let seen = 0; seen < RECORDS_PER_WRITE; seen++) {
      this.recordsSeen ??= this.records.entries()
      const { value, done } = this.recordsSeen.next()
      if (done === true) {
        this.recordsSeen = null
        return
      }
      const [other, state] = value
      if (alive(state, nowMs) === null) this.records.delete(other)
    }
  }

  keys(): string[] {
    return [...this.states.keys()]
  }

  private tell(key: string, notifications: readonly Notification[]): void {
    for (const { inbox, notice } of notifications) {
      const listeners = inbox === null ? undefined : this.listeners.get(inbox)
      if (listeners === undefined) continue
      const addressed: StoreNotice = { ...notice, key }
      for (const listener of listeners) this.runtime.defer(() => listener(addressed))
    }
  }

  private apply<E extends Event>(
    key: string,
    event: E,
    clock: Clock,
  ): { readonly answer: Answer<E>; readonly notifications: readonly Notification[] } {
    const stored = this.states.get(key) ?? EMPTY
    if (stored instanceof IndexedKey) {
      const outcome = indexedStep(stored, event, clock, this.rules)
      const { holders, waiters, seq } = stored.summary
      this.put(key, holders + waiters <= FEW_CLAIMS && !stored.isUndoable ? stored.state(key) : stored, seq)
      return outcome
    }
    const outcome = step(stored, event, clock, this.rules)
    const { state } = outcome
    this.put(key, claimCount(state) > MOST_PLAIN_CLAIMS ? new IndexedKey(state) : state, state.seq)
    return outcome
  }

  private claimGroup(claims: readonly Claim[], inbox: string, clock: Clock): ClaimAnswer[] {
    const before = new Map(claims.map(({ key }) => [key, this.states.get(key)]))
    for (const stored of before.values()) if (stored instanceof IndexedKey) stored.begin()
    const answers: ClaimAnswer[] = []
    const notifications: KeyNotification[] = []
    for (const claim of claims) {
      const outcome = this.apply(claim.key, { kind: 'claim', claim, inbox }, clock)
      const { answer } = outcome
      if (answer.kind !== 'granted') {
        this.restore(before)
        return claims.map((other) => (other === claim ? answer : heldBack(clock)))
      }
      answers.push(answer)
      for (const notification of outcome.notifications)
        notifications.push({ ...notification, key: claim.key })
    }
    for (const stored of before.values()) if (stored instanceof IndexedKey) stored.commit()
    for (const notification of notifications) this.tell(notification.key, [notification])
    this.sweepSometimes()
    return answers
  }

  private restore(before: ReadonlyMap<string, Stored | undefined>): void {
    for (const [key, stored] of before) {
      if (stored instanceof IndexedKey) stored.undo()
      if (stored === undefined) this.states.delete(key)
      else this.states.set(key, stored)
    }
  }

  private put(key: string, stored: Stored, seq: number): void {
    if (seq > this.lastStampUs) this.lastStampUs = seq
    this.states.set(key, stored)
  }

  private sweepSometimes(): void {
    if (this.states.size > this.sweepAt && ++this.steps % STEPS_PER_SWEEP === 0) this.sweep()
  }

  /** Forgets unused keys, a few at a time: forgetting a key at its release would slow down a hot one. */
  private sweep(): void {
    const nowMs = Math.floor(this.runtime.nowMs())
    if (this.sweeping === null) this.sweeping = this.states.entries()
    for (let checked = 0; checked < KEYS_PER_SWEEP; checked++) {
      const entry = this.sweeping.next()
      if (entry.done === true) {
        this.sweeping = null
        // The rest is in use; the next sweep begins when as many keys have come.
        this.sweepAt = Math.max(KEPT_KEYS, this.states.size * 2)
        return
      }
      const [key, stored] = entry.value
      // Expired claims of an indexed key are removed step by step, as any event does.
      if (stored instanceof IndexedKey)
        this.tell(key, this.apply(key, { kind: 'tick' }, this.clock()).notifications)
      else if (isForgettable(stored, nowMs)) this.states.delete(key)
    }
  }
}

function claimCount({ holds, queue }: KeyState): number {
  let count = queue.length
  for (const { members } of holds) count += members.length
  return count
}
