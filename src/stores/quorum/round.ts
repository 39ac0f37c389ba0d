import type { TimerEntry, TimerHeap } from '../../core/calls/timer-heap.ts'
import type { Blocked } from '../../model/index.ts'
import type { Pending } from './node-connection.ts'
import type { Question, Vote } from './protocol.ts'
import { verdictOf } from './tally.ts'

export type RoundResult = 'met' | 'hopeless'

/** After the deadline, answers that have already arrived get at least a turn of the event loop to be read. */
const GRACE_MS = 1
/** A process that stood still has more to read. */
const LONGEST_GRACE_MS = 500

/** One question to all nodes, decided as soon as the missing votes cannot change the verdict. */
export class Round implements TimerEntry {
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
  /** Called with a vote that comes after the decision. */
  late: ((node: number, vote: Vote) => void) | null = null
  /** Called when every node has voted or failed. */
  whenComplete: (() => void) | null = null
  private verdict: 'possible' | RoundResult = 'possible'
  private heard: { readonly count: number; readonly resolve: () => void } | null = null
  private decide: (verdict: RoundResult) => void = () => {}
  private deadlines: TimerHeap | null = null
  private expire: () => void = () => {}
  private isLate = false
  dueMs = 0
  index = -1

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

  /** Calls `expire` at that time unless every node has voted or failed before; another call waits longer. */
  limit(deadlines: TimerHeap, untilMs: number, expire: () => void): void {
    if (this.open === 0) return
    this.deadlines = deadlines
    this.expire = expire
    this.isLate = false
    deadlines.set(this, untilMs)
  }

  /** A process that stood still finds its timers due before it finds the answers that came meanwhile. */
  fire(nowMs: number): void {
    if (this.isLate) {
      this.expire()
      return
    }
    this.isLate = true
    const graceMs = Math.min(Math.max(nowMs - this.dueMs, GRACE_MS), LONGEST_GRACE_MS)
    this.deadlines?.set(this, nowMs + graceMs)
  }

  /** Nodes that neither voted nor failed yet. */
  get open(): number {
    return this.nodes - this.yes - this.no - this.failed
  }

  /** Too many nodes failed for any outcome: an outage, not contention. */
  get outage(): boolean {
    return this.failed > this.nodes - this.needed
  }

  /** Too many nodes said no, whatever the others would have said. */
  get denied(): boolean {
    return this.no > this.nodes - this.needed
  }

  /** Settles when `count` nodes have voted, or no more will. */
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

/** The joint answer of the nodes that said no. After a split vote the claim asks again soon. */
export function blockedOf({ votes, needed }: Round, splitPauseMs: number | null): Blocked {
  const blocks = votes.filter((vote): vote is Blocked => vote?.kind === 'blocked')
  // A node that gave its vote for a moment had the claim first.
  const positions = votes.flatMap((vote) =>
    vote?.kind === 'blocked' ? [vote.position] : vote?.kind === 'granted' ? [1] : [],
  )
  const first = blocks.find(({ holder }) => holder !== null) ?? blocks[0]
  return {
    kind: 'blocked',
    position: blocks.some(({ position }) => position > 0) ? medianPosition(positions) : 0,
    retryAfterMs: splitPauseMs ?? retryAfterMs(blocks, needed),
    storeTimeMs: Math.max(0, ...blocks.map(({ storeTimeMs }) => storeTimeMs)),
    holder: first?.holder ?? null,
  }
}

/** The median: a node that has lost its queue must not make everybody first. */
export function medianPosition(positions: readonly number[]): number {
  const known = positions.filter((position) => position > 0).sort((a, b) => a - b)
  return known[(known.length - 1) >> 1] ?? 0
}

/** When time alone can free enough nodes for a majority. */
function retryAfterMs(blocks: readonly Blocked[], needed: number): number | null {
  const waits = blocks.map((block) => block.retryAfterMs ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b)
  const enough = waits[Math.min(needed, waits.length) - 1] ?? Number.POSITIVE_INFINITY
  return enough === Number.POSITIVE_INFINITY ? null : enough
}
