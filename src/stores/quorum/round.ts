import type { Alarm, Alarms } from '../../core/calls/timer-heap.ts'
import type { Pending } from './node-connection.ts'
import type { Question, Vote } from './protocol.ts'
import { verdictOf } from './tally.ts'

export type RoundResult = 'met' | 'hopeless'

/** After its deadline a round gives what has already arrived at least a turn of the event loop to be read. */
const GRACE_MS = 1
/** A process that stood still has more to read. */
const LONGEST_GRACE_MS = 500

/** One question to all nodes. It is decided as soon as the votes that are missing cannot change the verdict. */
export class Round implements Alarm {
  readonly question: Question
  readonly nodes: number
  readonly needed: number
  readonly votes: (Vote | undefined)[]
  readonly errors: (Error | undefined)[]
  readonly pending: Pending[] = []
  readonly decided: Promise<RoundResult>
  yes = 0
  no = 0
  failed = 0
  /** Told of a vote that comes after the decision. */
  late: ((node: number, vote: Vote) => void) | null = null
  /** Told when every node voted or failed. */
  whenComplete: (() => void) | null = null
  private verdict: 'possible' | RoundResult = 'possible'
  private heard: { readonly count: number; readonly resolve: () => void } | null = null
  private decide: (verdict: RoundResult) => void = () => {}
  private deadlines: Alarms | null = null
  private expire: () => void = () => {}
  private isLate = false
  dueMs = 0
  place = -1

  constructor(question: Question, nodes: number, needed: number) {
    this.question = question
    this.nodes = nodes
    this.needed = needed
    this.votes = new Array(nodes).fill(undefined)
    this.errors = new Array(nodes).fill(undefined)
    this.decided = new Promise((resolve) => {
      this.decide = resolve
    })
  }

  /** Calls `expire` then, unless every node has voted or failed before; may be called again to wait longer. */
  limit(deadlines: Alarms, untilMs: number, expire: () => void): void {
    if (this.open === 0) return
    this.deadlines = deadlines
    this.expire = expire
    this.isLate = false
    deadlines.set(this, untilMs)
  }

  /** A process that stood still finds its timers due before it finds the answers that came meanwhile. */
  ring(nowMs: number): void {
    if (this.isLate) {
      this.expire()
      return
    }
    this.isLate = true
    const graceMs = Math.min(Math.max(nowMs - this.dueMs, GRACE_MS), LONGEST_GRACE_MS)
    this.deadlines?.set(this, nowMs + graceMs)
  }

  /** How many nodes neither voted nor failed yet. */
  get open(): number {
    return this.nodes - this.yes - this.no - this.failed
  }

  /** So many nodes failed that it cannot be met, whatever the others say: an outage, not contention. */
  get outage(): boolean {
    return this.failed > this.nodes - this.needed
  }

  /** So many nodes said no that it cannot be met, whatever the others would have said. */
  get denied(): boolean {
    return this.no > this.nodes - this.needed
  }

  /** Settles when so many nodes have voted, or no more will. */
  untilHeard(count: number): Promise<void> {
    if (this.yes + this.no >= count || this.open === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.heard = { count, resolve }
    })
  }

  isOpen(node: number): boolean {
    return this.votes[node] === undefined && this.errors[node] === undefined
  }

  vote(node: number, vote: Vote): void {
    if (!this.isOpen(node)) return
    if (vote.kind === 'ahead') {
      this.fail(node, new Error('its clock is more than a day behind those of the others'))
      return
    }
    this.votes[node] = vote
    if (isYes(vote)) this.yes++
    else this.no++
    if (this.verdict !== 'possible') this.late?.(node, vote)
    this.judge()
  }

  fail(node: number, error: Error): void {
    if (!this.isOpen(node)) return
    this.errors[node] = error
    this.failed++
    this.judge()
  }

  private judge(): void {
    if (this.open === 0) {
      this.deadlines?.remove(this)
      this.whenComplete?.()
    }
    if (this.heard !== null && (this.open === 0 || this.yes + this.no >= this.heard.count))
      this.heard.resolve()
    if (this.verdict !== 'possible') return
    this.verdict = verdictOf(this)
    if (this.verdict !== 'possible') this.decide(this.verdict)
  }
}

function isYes({ kind }: Vote): boolean {
  return kind === 'granted' || kind === 'renewed' || kind === 'released'
}
