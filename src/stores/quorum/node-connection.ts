import type { Runtime } from '../../core/runtime.ts'
import type { Ballots, Question, QuorumNode } from './protocol.ts'
import type { Round } from './round.ts'

/** Calls under way to one node; later questions are collected and travel with the next call. */
const MOST_CALLS = 8
/** So few that one call keeps the server busy for about a millisecond. */
const MOST_QUESTIONS_PER_CALL = 50
const FIRST_PROBE_MS = 250
const LONGEST_PROBE_MS = 2000
/** Beyond this the oldest are left to their ttl. */
const MOST_RELEASES = 10_000

/** A question on its way to one node. */
export interface Pending {
  readonly question: Question
  /** Null when nobody waits for the vote. */
  readonly round: Round | null
  state: 'waiting' | 'sent' | 'withdrawn'
}

/**
 * Sends questions to one node in their order, those of one tick together. A silent node gets no more questions, so that a stopped
 * server does not collect commands: it gets only probes, and releases of what it may have. Any answer brings it back.
 */
export class NodeConnection {
  readonly node: QuorumNode
  readonly number: number
  private readonly runtime: Runtime
  private readonly heard: (number: number, stampUs: number) => void
  private outbox: Pending[] = []
  private sent = 0
  /** The latest call that was answered; answers come in the order of the calls, so all calls before it are over. */
  private over = 0
  private scheduled = false
  private lastHeardMs = Number.NEGATIVE_INFINITY
  private silentSinceMs: number | null = null
  private probeAtMs = 0
  private probeMs = FIRST_PROBE_MS
  /** Ids of claims that were sent and not released since: the node may keep something of them. */
  private readonly kept = new Set<string>()
  private readonly releases: PendingReleases
  private whenIdle: (() => void) | null = null

  constructor(
    node: QuorumNode,
    number: number,
    runtime: Runtime,
    heard: (number: number, stampUs: number) => void,
  ) {
    this.node = node
    this.number = number
    this.runtime = runtime
    this.heard = heard
    this.releases = new PendingReleases(runtime)
  }

  ask(question: Question, round: Round | null): Pending {
    const pending: Pending = { question, round, state: 'waiting' }
    if (this.silentSinceMs !== null && !this.passes(question, this.silentSinceMs)) {
      pending.state = 'withdrawn'
      round?.fail(this.number, silent(this.runtime.nowMs() - this.silentSinceMs))
      return pending
    }
    this.outbox.push(pending)
    this.schedule()
    return pending
  }

  hasAnsweredSince(timeMs: number): boolean {
    return this.lastHeardMs > timeMs
  }

  /** The node may have something of that claim: the claim was sent there, and no release since. */
  mayKeep(id: string): boolean {
    return this.kept.has(id)
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

  /** The node can be reached, for the first time or again: reads its clock and delivers the releases it missed. */
  async greet(): Promise<void> {
    try {
      this.answered(await this.node.timeUs())
    } catch {
      // The next question finds out.
    }
  }

  /** Settles when nothing is under way; a silent node is not waited for. */
  idle(): Promise<void> {
    if (this.silentSinceMs !== null || (this.calls === 0 && this.outbox.length === 0))
      return Promise.resolve()
    return new Promise((resolve) => {
      this.whenIdle = resolve
    })
  }

  /** Keeps questions from now on until `flush`. */
  collect(): void {
    this.scheduled = true
  }

  readonly flush = (): void => {
    this.scheduled = false
    while (this.outbox.length > 0 && (this.calls < MOST_CALLS || this.silentSinceMs !== null)) {
      const next = this.outbox.splice(0, MOST_QUESTIONS_PER_CALL)
      const batch = next.filter(({ state }) => state === 'waiting')
      if (batch.length > 0) this.send(batch)
    }
    if (this.calls === 0 && this.outbox.length === 0) this.whenIdle?.()
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
    if (this.scheduled) return
    this.scheduled = true
    this.runtime.defer(this.flush)
  }

  private send(batch: readonly Pending[]): void {
    const call = ++this.sent
    for (const pending of batch) {
      pending.state = 'sent'
      const { kind, claim } = pending.question
      if (kind === 'claim') this.kept.add(claim.id)
      else if (kind === 'release') this.kept.delete(claim.id)
    }
    this.node.send(
      batch.map(({ question }) => question),
      (ballots) => this.voted(call, batch, ballots),
      (error) => this.failed(call, batch, error),
    )
  }

  private voted(call: number, batch: readonly Pending[], { stampUs, votes }: Ballots): void {
    this.over = Math.max(this.over, call)
    this.answered(stampUs)
    for (const [index, { round }] of batch.entries()) {
      const vote = votes[index]
      if (vote instanceof Error) round?.fail(this.number, vote)
      else if (vote !== undefined) round?.vote(this.number, vote)
    }
    this.flush()
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
    if (this.releases.size === 0) return
    for (const question of this.releases.take()) this.outbox.push({ question, round: null, state: 'waiting' })
    this.schedule()
  }

  /** A release that could not be delivered stays pending until the claim would be dead anyway. */
  private drop({ question, round }: Pending, error: Error): void {
    if (question.kind === 'release') this.releases.add(question)
    round?.fail(this.number, error)
  }
}

type Release = Question & { kind: 'release' }

/** Releases that a node did not get, kept for as long as the claims can live. */
class PendingReleases {
  private readonly runtime: Runtime
  private readonly byClaim = new Map<string, Release>()
  private readonly untilMs = new WeakMap<Release, number>()

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  get size(): number {
    return this.byClaim.size
  }

  add(question: Release): void {
    const { id, ttlMs } = question.claim
    if (!this.untilMs.has(question)) this.untilMs.set(question, this.runtime.nowMs() + ttlMs)
    const before = this.byClaim.get(id)
    if (before === undefined || before.ballot <= question.ballot) this.byClaim.set(id, question)
    if (this.byClaim.size <= MOST_RELEASES) return
    const [oldest] = this.byClaim.keys()
    if (oldest !== undefined) this.byClaim.delete(oldest)
  }

  /** Removes all releases, and returns those that are still worth delivering. */
  take(): Release[] {
    const nowMs = this.runtime.nowMs()
    const due = [...this.byClaim.values()].filter((question) => (this.untilMs.get(question) ?? 0) > nowMs)
    this.byClaim.clear()
    return due
  }
}

function silent(forMs: number): Error {
  return new Error(`it has not answered for ${Math.round(forMs)} ms`)
}
