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
  type KeyLetter,
  type KeyState,
  type Letter,
  type RecordState,
  type Rules,
  step,
} from '../../model/index.ts'
import { CrowdedKey } from './crowded-key.ts'

/** A waiter of this process cannot die apart from it, so an offer lives as long as any grant. Nothing need be
 *  remembered of a free key either: the stamp rises with every step, whatever the key. */
const RULES: Rules = { offerMs: Number.POSITIVE_INFINITY, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY }

/** Fewer keys than this are never looked through. */
const KEPT_KEYS = 256
const STEPS_PER_SWEEP = 64
/** More than a step can add, so that what is forgotten keeps up with what is remembered. */
const KEYS_PER_SWEEP = 128
/** Two may go for every one that is written, so that records that ended are gone after as many writes as there are. */
const RECORDS_PER_WRITE = 2

/** With more claims than this a key gets indexes, and with few enough it loses them: for a handful they cost more than they save. */
const MOST_PLAIN_CLAIMS = 8
const FEW_CLAIMS = 2

type Stored = KeyState | CrowdedKey

/** What one or more memory stores share: the claims, the records and who listens. */
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

  /** Costs O(claims of the key): for operators, and for what is about one claim there is `holds`. */
  get(key: string): KeyState {
    const stored = this.states.get(key)
    return stored instanceof CrowdedKey ? stored.state(key) : (stored ?? EMPTY)
  }

  holds(key: string, id: string): boolean {
    this.step(key, { kind: 'tick' })
    const stored = this.states.get(key)
    if (stored instanceof CrowdedKey) return stored.find(id)?.held === true
    return stored?.holds.some(({ members }) => members.some((member) => member.id === id)) === true
  }

  /** The model's step on one key; what is to be told is told. */
  step<E extends Event>(key: string, event: E, clock = this.clock()): Answer<E> {
    const { answer, letters } = this.take(key, event, clock)
    this.tell(key, letters)
    this.count()
    return answer
  }

  /** Claims of a group, which stand together, are granted all or none. */
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

  /** Writes a record, and looks at a few others whether they ended. */
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

  private tell(key: string, letters: readonly Letter[]): void {
    for (const { inbox, notice } of letters) {
      const listeners = inbox === null ? undefined : this.listeners.get(inbox)
      if (listeners === undefined) continue
      const addressed: StoreNotice = { ...notice, key }
      for (const listener of listeners) this.runtime.defer(() => listener(addressed))
    }
  }

  private take<E extends Event>(
    key: string,
    event: E,
    clock: Clock,
  ): { readonly answer: Answer<E>; readonly letters: readonly Letter[] } {
    const stored = this.states.get(key) ?? EMPTY
    if (stored instanceof CrowdedKey) {
      const outcome = indexedStep(stored, event, clock, this.rules)
      const { holders, waiters, seq } = stored.summary
      this.put(key, holders + waiters <= FEW_CLAIMS && !stored.isUndoable ? stored.state(key) : stored, seq)
      return outcome
    }
    const outcome = step(stored, event, clock, this.rules)
    const { state } = outcome
    this.put(key, claimCount(state) > MOST_PLAIN_CLAIMS ? new CrowdedKey(state) : state, state.seq)
    return outcome
  }

  private claimGroup(claims: readonly Claim[], inbox: string, clock: Clock): ClaimAnswer[] {
    const before = new Map(claims.map(({ key }) => [key, this.states.get(key)]))
    for (const stored of before.values()) if (stored instanceof CrowdedKey) stored.begin()
    const answers: ClaimAnswer[] = []
    const letters: KeyLetter[] = []
    for (const claim of claims) {
      const outcome = this.take(claim.key, { kind: 'claim', claim, inbox }, clock)
      const { answer } = outcome
      if (answer.kind !== 'granted') {
        this.restore(before)
        return claims.map((other) => (other === claim ? answer : heldBack(clock)))
      }
      answers.push(answer)
      for (const letter of outcome.letters) letters.push({ ...letter, key: claim.key })
    }
    for (const stored of before.values()) if (stored instanceof CrowdedKey) stored.commit()
    for (const letter of letters) this.tell(letter.key, [letter])
    this.count()
    return answers
  }

  private restore(before: ReadonlyMap<string, Stored | undefined>): void {
    for (const [key, stored] of before) {
      if (stored instanceof CrowdedKey) stored.undo()
      if (stored === undefined) this.states.delete(key)
      else this.states.set(key, stored)
    }
  }

  private put(key: string, stored: Stored, seq: number): void {
    if (seq > this.lastStampUs) this.lastStampUs = seq
    this.states.set(key, stored)
  }

  private count(): void {
    if (this.states.size > this.sweepAt && ++this.steps % STEPS_PER_SWEEP === 0) this.sweep()
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
      const [key, stored] = entry.value
      // A crowd that was left to die is looked through one step at a time, as any event would.
      if (stored instanceof CrowdedKey) this.tell(key, this.take(key, { kind: 'tick' }, this.clock()).letters)
      else if (isForgettable(stored, nowMs)) this.states.delete(key)
    }
  }
}

function claimCount({ holds, line }: KeyState): number {
  let count = line.length
  for (const { members } of holds) count += members.length
  return count
}
