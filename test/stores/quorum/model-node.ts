import type { FakeRuntime } from 'holdfast/testing'
import { answer } from '../../../src/stores/quorum/node-model/answer.ts'
import { type NodeState, UNKNOWN_KEY } from '../../../src/stores/quorum/node-model/state.ts'
import type { Ballots, NodeNotification, Question, QuorumNode } from '../../../src/stores/quorum/protocol.ts'

const WALL_US = 1_700_000_000_000_000

/** A server that votes as the model says. */
export class ModelServer {
  readonly name: string
  readonly runtime: FakeRuntime
  readonly states = new Map<string, NodeState>()
  readonly listeners = new Map<string, (notification: NodeNotification) => void>()
  /** How many questions it was asked, by their kind. */
  readonly asked = new Map<string, number>()

  constructor(name: string, runtime: FakeRuntime) {
    this.name = name
    this.runtime = runtime
  }

  get clock() {
    const nowMs = this.runtime.nowMs() + 1000
    // Within the millisecond that the runtime knows no two moments are the same.
    return { nowMs, stampUs: WALL_US + nowMs * 1000 + Math.floor(this.runtime.random() * 1000) }
  }

  ask(questions: readonly Question[]): Ballots {
    const { clock } = this
    const votes = questions.map((question) => {
      const { key } = question.claim
      this.asked.set(question.kind, (this.asked.get(question.kind) ?? 0) + 1)
      const { state, vote, notifications } = answer(this.states.get(key) ?? UNKNOWN_KEY, question, clock)
      this.states.set(key, state)
      for (const { inbox, notification } of notifications)
        this.runtime.setTimer(() => this.listeners.get(inbox ?? '')?.(notification), this.delayMs(), true)
      return vote
    })
    return { stampUs: clock.stampUs, votes }
  }

  delayMs(): number {
    return 1 + Math.floor(this.runtime.random() * 3)
  }
}

/** One connection to it: what was asked earlier arrives and is answered earlier. */
export class ModelNode implements QuorumNode {
  readonly name: string
  private readonly server: ModelServer
  private arrivesAtMs = 0

  constructor(server: ModelServer) {
    this.server = server
    this.name = server.name
  }

  send(questions: readonly Question[], answered: (ballots: Ballots) => void): void {
    const { server } = this
    const { runtime } = server
    this.arrivesAtMs = Math.max(this.arrivesAtMs, runtime.nowMs() + server.delayMs())
    runtime.setTimer(
      () => {
        const ballots = server.ask(questions)
        runtime.setTimer(() => answered(ballots), 1, true)
      },
      this.arrivesAtMs - runtime.nowMs(),
      true,
    )
  }

  async listen(inbox: string, listener: (notification: NodeNotification) => void): Promise<void> {
    this.server.listeners.set(inbox, listener)
  }

  timeUs = () => Promise.resolve(this.server.clock.stampUs)
  identify = () => Promise.resolve(this.name)
  read = () => Promise.resolve([])
  evict = () => Promise.resolve()
  close = () => Promise.resolve()
  async *scan(): AsyncIterable<readonly string[]> {}
}
