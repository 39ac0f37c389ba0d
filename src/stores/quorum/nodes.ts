import { Alarms } from '../../core/calls/timer-heap.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import { ClosedError } from '../../errors.ts'
import { NodeConnection } from './node-connection.ts'
import type { Question, QuorumNode } from './protocol.ts'
import { Round } from './round.ts'

/** A node that is busy, but answers, is waited for until so much of the ttl is over. */
const BUSY_PART_OF_TTL = 1 / 6

/** The nodes together: rounds of questions, each with a deadline, and the ways to every node. */
export class Nodes {
  readonly connections: readonly NodeConnection[]
  private readonly runtime: Runtime
  /** One timer for all rounds: most of them are over long before they are due. */
  private readonly deadlines: Alarms
  /** One timer for what the nodes are told a moment later. */
  private readonly later: Alarms
  private stopped = false

  constructor(
    nodes: readonly QuorumNode[],
    runtime: Runtime,
    heard: (node: number, stampUs: number) => void,
  ) {
    this.runtime = runtime
    this.deadlines = new Alarms(runtime, true)
    this.later = new Alarms(runtime, true)
    this.connections = nodes.map(
      (node, number) => new NodeConnection(node, number, runtime, this.later, heard),
    )
  }

  get size(): number {
    return this.connections.length
  }

  /** Asks every node. Whoever does not answer within `timeoutMs` has failed, and is not asked again before it answers. */
  ask(question: Question, needed: number, timeoutMs: number): Round {
    return this.askSome(question, needed, timeoutMs, this.size)
  }

  /**
   * Ends a hold: as many nodes as must say so are told at once, the others a moment later, with whatever they are asked next,
   * which spares a call in five. If somebody waits for the key, it shall find all of them free.
   */
  release(question: Question, needed: number, timeoutMs: number): Round {
    const wanted = this.connections.some((connection) => connection.isContended(question.claim.id))
    return this.askSome(question, needed, timeoutMs, wanted ? this.size : needed)
  }

  private askSome(question: Question, needed: number, timeoutMs: number, atOnce: number): Round {
    const round = new Round(question, this.size, needed)
    if (this.stopped) {
      for (let place = 0; place < this.size; place++) round.fail(place, new ClosedError())
      return round
    }
    const askedAtMs = this.runtime.nowMs()
    let told = 0
    for (const connection of this.connections) {
      round.pending.push(connection.ask(question, round, told >= atOnce))
      if (connection.answers) told++
    }
    const latestMs = askedAtMs + Math.max(timeoutMs, question.claim.ttlMs * BUSY_PART_OF_TTL)
    let checkedAtMs = askedAtMs
    const expire = (): void => {
      const nowMs = this.runtime.nowMs()
      for (const [place, connection] of this.connections.entries()) {
        if (!round.isOpen(place)) continue
        // It answers others: what was asked here stands in a queue, and to ask it again would make that longer.
        if (connection.hasAnsweredSince(checkedAtMs) && nowMs < latestMs) continue
        round.fail(place, new Error(`no answer within ${Math.round(nowMs - askedAtMs)} ms`))
        connection.suspect(askedAtMs)
      }
      checkedAtMs = nowMs
      round.limit(this.deadlines, nowMs + timeoutMs, expire)
    }
    round.limit(this.deadlines, askedAtMs + timeoutMs, expire)
    return round
  }

  /** What is asked meanwhile goes to each node as one call, and at once. */
  together<T>(ask: () => T): T {
    for (const connection of this.connections) connection.collect()
    try {
      return ask()
    } finally {
      for (const connection of this.connections) connection.letGo()
    }
  }

  /** Asks one node, for nobody in particular. */
  tell(node: number, question: Question): void {
    this.connections[node]?.ask(question, null)
  }

  /** Takes back what a round may have got from any node; those that said no have nothing to give back. */
  rollBack({ pending: sent, votes, question }: Round, ballot: number): void {
    const release: Question = { kind: 'release', claim: question.claim, ballot }
    for (const [place, pending] of sent.entries()) {
      const vote = votes[place]
      if (vote !== undefined && vote.kind !== 'granted') continue
      if (pending.state === 'waiting') pending.state = 'withdrawn'
      // Whoever was not asked in this round may have something of one before it.
      if (this.connections[place]?.mayKeep(question.claim.id)) this.tell(place, release)
    }
  }

  /** Lets what is under way arrive, but not for longer than `timeoutMs`. */
  async settle(timeoutMs: number): Promise<void> {
    let timer: Timer | null = null
    const late = new Promise<void>((resolve) => {
      timer = this.runtime.setTimer(resolve, timeoutMs, false)
    })
    await Promise.race([late, Promise.all(this.connections.map((connection) => connection.idle()))])
    ;(timer as Timer | null)?.clear()
  }

  stop(): void {
    this.stopped = true
    this.deadlines.clear()
    this.later.clear()
  }
}
