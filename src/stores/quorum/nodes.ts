import { TimerHeap } from '../../core/calls/timer-heap.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import { ClosedError, type StoreError } from '../../errors.ts'
import { nodeError, outageOf } from './gather.ts'
import { NodeConnection } from './node-connection.ts'
import type { Question, QuorumNode } from './protocol.ts'
import { Round } from './round.ts'
import { votesNeeded } from './tally.ts'

/** A busy node that still answers is waited for until this part of the ttl is over. */
const BUSY_PART_OF_TTL = 1 / 6

/** The nodes together: rounds of questions, each with a deadline, over one connection to each node. */
export class Nodes {
  readonly connections: readonly NodeConnection[]
  private readonly runtime: Runtime
  private readonly timeoutMs: (ttlMs: number) => number
  /** One timer for all rounds: most of them are over long before they are due. */
  private readonly deadlines: TimerHeap
  private stopped = false

  constructor(
    nodes: readonly QuorumNode[],
    runtime: Runtime,
    timeoutMs: (ttlMs: number) => number,
    heard: (node: number, stampUs: number) => void,
  ) {
    this.runtime = runtime
    this.timeoutMs = timeoutMs
    this.deadlines = new TimerHeap(runtime, true)
    this.connections = nodes.map((node, number) => new NodeConnection(node, number, runtime, heard))
  }

  get size(): number {
    return this.connections.length
  }

  /** Asks every node. A node that does not answer in time has failed, and is not asked again before it answers. */
  ask(question: Question): Round {
    const { mode, ttlMs } = question.claim
    const timeoutMs = this.timeoutMs(ttlMs)
    const round = new Round(question, this.size, votesNeeded(mode, this.size))
    if (this.stopped) {
      for (let node = 0; node < this.size; node++) round.fail(node, new ClosedError())
      return round
    }
    const askedAtMs = this.runtime.nowMs()
    for (const connection of this.connections) round.pending.push(connection.ask(question, round))
    const latestMs = askedAtMs + Math.max(timeoutMs, ttlMs * BUSY_PART_OF_TTL)
    let checkedAtMs = askedAtMs
    const expire = (): void => {
      const nowMs = this.runtime.nowMs()
      for (const [node, connection] of this.connections.entries()) {
        if (!round.isOpen(node)) continue
        // The node answers others, so this question stands in its queue; asking again would make that longer.
        if (connection.hasAnsweredSince(checkedAtMs) && nowMs < latestMs) continue
        round.fail(node, new Error(`no answer within ${Math.round(nowMs - askedAtMs)} ms`))
        connection.suspect(askedAtMs)
      }
      checkedAtMs = nowMs
      round.limit(this.deadlines, nowMs + timeoutMs, expire)
    }
    round.limit(this.deadlines, askedAtMs + timeoutMs, expire)
    return round
  }

  /** All questions of `ask` travel to each node as one call, at once. */
  together<T>(ask: () => T): T {
    for (const connection of this.connections) connection.collect()
    try {
      return ask()
    } finally {
      for (const connection of this.connections) connection.flush()
    }
  }

  /** Asks one node; nobody waits for the answer. */
  tell(node: number, question: Question): void {
    this.connections[node]?.ask(question, null)
  }

  /** Takes back what any node may have granted in a round; nodes that said no have nothing to give back. */
  rollBack({ pending: sent, votes, question }: Round, ballot: number): void {
    const release: Question = { kind: 'release', claim: question.claim, ballot }
    for (const [node, pending] of sent.entries()) {
      const vote = votes[node]
      if (vote !== undefined && vote.kind !== 'granted') continue
      if (pending.state === 'waiting') pending.state = 'withdrawn'
      // A node that was not asked in this round may have granted an earlier one.
      if (this.connections[node]?.mayKeep(question.claim.id)) this.tell(node, release)
    }
  }

  /** The error of a round that too few nodes answered: it names the others, each with its cause. */
  outage({ errors, failed, needed }: Round): StoreError {
    const causes = this.connections.flatMap(({ node }, number) =>
      errors[number] === undefined ? [] : [nodeError(node.name, errors[number])],
    )
    return outageOf(this.size - failed, needed, this.size, causes)
  }

  /** Lets calls under way end, but waits no longer than `timeoutMs`. */
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
  }
}
