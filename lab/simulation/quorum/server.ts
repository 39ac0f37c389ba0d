import type { Clock, KeyView } from '../../../src/model/index.ts'
import { isInUse } from '../../../src/model/index.ts'
import { answer, counted } from '../../../src/stores/quorum/node-model/answer.ts'
import {
  type AddressedNotification,
  type NodeState,
  nodeView,
  UNKNOWN_KEY,
} from '../../../src/stores/quorum/node-model/state.ts'
import type { Ballots, Question, Vote } from '../../../src/stores/quorum/protocol.ts'
import { SkewedClock } from '../clock.ts'
import { WALL_START_MS } from '../host.ts'
import type { Ledger } from '../ledger.ts'
import type { NodePlan } from '../plan.ts'
import type { World } from '../world.ts'

/** A server that votes: the meaning of a node over a map, with its own clock and its own accidents. */
export class NodeServer {
  readonly name: string
  private readonly world: World
  private readonly ledger: Ledger
  private readonly deliver: (notification: AddressedNotification) => void
  private readonly clock: SkewedClock
  private readonly states = new Map<string, NodeState>()
  private aheadUs: number
  private downUntilUs = 0
  private frozenUntilUs = 0

  constructor(
    name: string,
    world: World,
    plan: NodePlan,
    ledger: Ledger,
    deliver: (notification: AddressedNotification) => void,
  ) {
    this.name = name
    this.world = world
    this.ledger = ledger
    this.deliver = deliver
    this.aheadUs = plan.aheadMs * 1000
    this.clock = new SkewedClock(world, plan.skewPpm, 5_000_000)
  }

  /** `respond` gets the votes, or null when there is no server to answer. */
  receive(questions: readonly Question[], respond: (ballots: Ballots | null) => void): void {
    const { nowUs } = this.world
    if (nowUs < this.downUntilUs) respond(null)
    else if (nowUs < this.frozenUntilUs) {
      this.world.schedule(this.frozenUntilUs, () => this.receive(questions, respond), true)
    } else {
      const clock = this.now()
      respond({
        stampUs: clock.stampUs,
        votes: questions.map((question) => this.vote(question, clock)),
      })
    }
  }

  crash(untilUs: number, loss: boolean): void {
    this.downUntilUs = Math.max(this.downUntilUs, untilUs)
    if (loss) this.states.clear()
  }

  freeze(untilUs: number): void {
    this.frozenUntilUs = Math.max(this.frozenUntilUs, untilUs)
  }

  jump(byMs: number): void {
    this.aheadUs += byMs * 1000
  }

  heal(): void {
    this.downUntilUs = 0
    this.frozenUntilUs = 0
  }

  inUse(): KeyView[] {
    const clock = this.now()
    return [...this.states]
      .map(([key, state]) => nodeView(key, counted(key, state, clock), clock.nowMs).view)
      .filter(isInUse)
  }

  private vote(question: Question, clock: Clock): Vote {
    const { key, id } = question.claim
    const before = this.states.get(key) ?? UNKNOWN_KEY
    const { state, vote, notifications } = answer(before, question, clock)
    this.ledger.changed(key, question.kind, before, state)
    this.states.set(key, state)
    if (this.world.trace !== null) {
      const ballot =
        'ballot' in question ? ` ballot ${question.ballot}` : 'seq' in question ? ` seq ${question.seq}` : ''
      const seq = 'seq' in vote ? ` ${vote.seq}` : ''
      this.world.note(this.name, `${question.kind} ${key} ${id}${ballot}: ${vote.kind}${seq}`)
    }
    for (const notification of notifications) this.deliver(notification)
    return vote
  }

  private now(): Clock {
    const localUs = this.clock.nowUs()
    return { nowMs: Math.floor(localUs / 1000), stampUs: WALL_START_MS * 1000 + localUs + this.aheadUs }
  }
}
