import type { Alarm, Alarms } from '../../core/calls/timer-heap.ts'
import type { Runtime } from '../../core/runtime.ts'
import { PendingReleases } from './pending-releases.ts'
import type { Ballots, Question, QuorumNode } from './protocol.ts'
import type { Round } from './round.ts'

/** Calls under way to one node; what is asked meanwhile is collected and travels with the next. */
const MOST_CALLS = 8
/** So few that one call keeps the server busy for about a millisecond. */
const MOST_QUESTIONS_PER_CALL = 50
const FIRST_PROBE_MS = 250
const LONGEST_PROBE_MS = 2000
/** How long what can wait is kept for a call that it can travel with. */
const LATER_MS = 2

/** A question on its way to one node. */
export interface Pending {
  readonly question: Question
  /** Null when nobody waits for the vote. */
  readonly round: Round | null
  state: 'waiting' | 'sent' | 'withdrawn'
}

/**
 * The way to one node. Questions go in their order, those of one tick together. A node that answers nothing is not asked
 * any more, so that a stopped server does not collect commands: only probes are sent, and releases of what it may
 * have. Whatever it answers brings it back.
 */
export class NodeConnection implements Alarm {
  readonly node: QuorumNode
  readonly number: number
  dueMs = 0
  place = -1
  private readonly runtime: Runtime
  private readonly later: Alarms
  private readonly heard: (number: number, stampUs: number) => void
  private outbox: Pending[] = []
  private sent = 0
  /** The latest call that was answered; answers come in the order of the calls, so what is before it is over. */
  private over = 0
  private scheduled = false
  private lastHeardMs = Number.NEGATIVE_INFINITY
  private silentSinceMs: number | null = null
  private probeAtMs = 0
  private probeMs = FIRST_PROBE_MS
  /** Everything that waits to be sent can wait. */
  private unhurried = false
  /** Claims that were sent and not released since, of which the node may keep something; true for those that others wait for. */
  private readonly kept = new Map<string, boolean>()
  private readonly owedReleases: PendingReleases
  private whenIdle: (() => void) | null = null

  constructor(
    node: QuorumNode,
    number: number,
    runtime: Runtime,
    later: Alarms,
    heard: (number: number, stampUs: number) => void,
  ) {
    this.node = node
    this.number = number
    this.runtime = runtime
    this.later = later
    this.heard = heard
    this.owedReleases = new PendingReleases(runtime)
  }

  /** What can wait is sent a moment later, with whatever else is asked meanwhile: that spares a call. */
  ask(question: Question, round: Round | null, canWait = false): Pending {
    const pending: Pending = { question, round, state: 'waiting' }
    if (this.silentSinceMs !== null && !this.passes(question, this.silentSinceMs)) {
      pending.state = 'withdrawn'
      round?.fail(this.number, silent(this.runtime.nowMs() - this.silentSinceMs))
      return pending
    }
    if (canWait && this.outbox.length === 0) {
      this.unhurried = true
      this.later.set(this, this.runtime.nowMs() + LATER_MS)
    }
    this.outbox.push(pending)
    if (!canWait) this.schedule()
    return pending
  }

  /** As far as is known. */
  get answers(): boolean {
    return this.silentSinceMs === null
  }

  hasAnsweredSince(timeMs: number): boolean {
    return this.lastHeardMs > timeMs
  }

  /** Others wait for what that claim holds. */
  noteContended(id: string): void {
    if (this.mayKeep(id)) this.kept.set(id, true)
  }

  isContended(id: string): boolean {
    return this.kept.get(id) === true
  }

  /** Whether the node may have something of that claim: it was sent there, and no release since. */
  mayKeep(id: string): boolean {
    return this.kept.get(id) !== undefined
  }

  /** The node was asked at `askedAtMs` and did not answer in time. */
  suspect(askedAtMs: number): void {
    if (this.lastHeardMs >= askedAtMs || this.silentSinceMs !== null) return
    const nowMs = this.runtime.nowMs()
    this.silentSinceMs = askedAtMs
    this.probeMs = FIRST_PROBE_MS
    this.probeAtMs = nowMs + this.probeMs
    const waiting = this.outbox
    this.outbox = []
    for (const pending of waiting) {
      if (pending.question.kind === 'release' && this.mayKeep(pending.question.claim.id))
        this.outbox.push(pending)
      else this.drop(pending, silent(nowMs - askedAtMs))
    }
    this.flush()
  }

  /** The node can be reached, for the first time or again: its clock is read, and it gets what it is owed. */
  async greet(): Promise<void> {
    try {
      this.answered(await this.node.timeUs())
    } catch {
      // It will be asked again when there is something to ask.
    }
  }

  private deliverReleases(): void {
    if (this.owedReleases.size === 0) return
    for (const question of this.owedReleases.take())
      this.outbox.push({ question, round: null, state: 'waiting' })
    this.schedule()
  }

  ring(): void {
    this.flush()
  }

  /** Settles when nothing is under way; a silent node is not waited for. */
  idle(): Promise<void> {
    if (this.unhurried) this.flush()
    if (this.silentSinceMs !== null || (this.calls === 0 && this.outbox.length === 0))
      return Promise.resolve()
    return new Promise((resolve) => {
      this.whenIdle = resolve
    })
  }

  private get calls(): number {
    return this.sent - this.over
  }

  private passes({ kind, claim }: Question, silentSinceMs: number): boolean {
    if (kind === 'release' && this.mayKeep(claim.id)) return true
    const nowMs = this.runtime.nowMs()
    if (nowMs < this.probeAtMs || silentSinceMs > nowMs) return false
    this.probeMs = Math.min(this.probeMs * 2, LONGEST_PROBE_MS)
    this.probeAtMs = nowMs + this.probeMs
    return true
  }

  private schedule(): void {
    this.unhurried = false
    if (this.scheduled) return
    this.scheduled = true
    this.runtime.defer(this.flush)
  }

  /** What is asked from now on is kept together until `letGo`. */
  collect(): void {
    this.scheduled = true
  }

  letGo(): void {
    if (this.unhurried) this.scheduled = false
    else this.flush()
  }

  private readonly flush = (): void => {
    this.scheduled = false
    this.unhurried = false
    this.later.remove(this)
    while (this.outbox.length > 0 && (this.calls < MOST_CALLS || this.silentSinceMs !== null)) {
      const whole = this.outbox.length <= MOST_QUESTIONS_PER_CALL
      const next = whole ? this.outbox : this.outbox.slice(0, MOST_QUESTIONS_PER_CALL)
      this.outbox = whole ? [] : this.outbox.slice(MOST_QUESTIONS_PER_CALL)
      const batch = next.every(isWaiting) ? next : next.filter(isWaiting)
      if (batch.length > 0) this.send(batch)
    }
    if (this.calls === 0 && this.outbox.length === 0) this.whenIdle?.()
  }

  private send(batch: readonly Pending[]): void {
    const call = ++this.sent
    for (const pending of batch) {
      pending.state = 'sent'
      const { kind, claim } = pending.question
      if (kind === 'claim') this.kept.set(claim.id, this.isContended(claim.id))
      else if (kind === 'release') this.kept.delete(claim.id)
    }
    this.node.send(
      batch.map(questionOf),
      (ballots) => this.voted(call, batch, ballots),
      (error) => this.failed(call, batch, error),
    )
  }

  private voted(call: number, batch: readonly Pending[], { stampUs, votes }: Ballots): void {
    this.over = Math.max(this.over, call)
    this.answered(stampUs)
    for (let index = 0; index < batch.length; index++) {
      const vote = votes[index]
      const pending = batch[index]
      if (vote === undefined || pending === undefined) continue
      if (vote instanceof Error) {
        pending.round?.fail(this.number, vote)
        continue
      }
      if ('contended' in vote && vote.contended) this.noteContended(pending.question.claim.id)
      pending.round?.vote(this.number, vote)
    }
    if (!this.unhurried) this.flush()
  }

  private failed(call: number, batch: readonly Pending[], error: Error): void {
    this.over = Math.max(this.over, call)
    for (const pending of batch) this.drop(pending, error)
    this.flush()
  }

  private answered(stampUs: number | null): void {
    this.lastHeardMs = this.runtime.nowMs()
    this.silentSinceMs = null
    if (stampUs !== null) this.heard(this.number, stampUs)
    this.deliverReleases()
  }

  /** A release that could not be delivered is owed until the claim would be dead anyway. */
  private drop({ question, round }: Pending, error: Error): void {
    if (question.kind === 'release') this.owedReleases.add(question)
    round?.fail(this.number, error)
  }
}

function questionOf({ question }: Pending): Question {
  return question
}

function isWaiting({ state }: Pending): boolean {
  return state === 'waiting'
}

function silent(forMs: number): Error {
  return new Error(`it has not answered for ${Math.round(forMs)} ms`)
}
