import type { Runtime, Timer } from '../../core/runtime.ts'
import { ClosedError } from '../../errors.ts'
import {
  type Claim,
  type ClaimAnswer,
  type Refused,
  refused,
  SPARE_TOKENS,
  tokenOf,
} from '../../model/index.ts'
import type { Nodes } from './nodes.ts'
import type { Question, Vote, VoteGranted } from './protocol.ts'
import { blockedOf, type Round } from './round.ts'
import { majorityOf, votesNeeded } from './tally.ts'
import type { NodeTimes } from './times.ts'
import type { WaitingClaims } from './waiting-claims.ts'

/** How often a claim that does not wait repeats a split vote, in which nobody may have won. */
const MOST_REPEATS = 6
/** An exclusive claim raises its number once; readers that come together may have to repeat it. */
const MOST_RAISES = 6
/** Beyond this the oldest claims get their missing votes with the next renewal. */
const MOST_MISSED = 10_000
const SHORTEST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 500

interface Missed {
  readonly claim: Claim
  readonly seq: number
  /** Until then the hold cannot have been lost; later its renewals give the node its claim. */
  readonly untilMs: number
}

/** Collects the votes of claims: rounds, roll-back of too few votes, write-back of the token. */
export class Elections {
  private readonly nodes: Nodes
  private readonly runtime: Runtime
  private readonly times: NodeTimes
  private readonly waiting: WaitingClaims
  private readonly inbox: string
  /** The latest election of each claim; an earlier one must not roll back. */
  private readonly latest = new Map<string, number>()
  /** Holds that a node may have blocked: the node calls them when it has room. */
  private readonly missed = new Map<string, Missed>()
  private begun = 0
  /** Claims that pause before they are voted on again. */
  private readonly pauses = new Map<Timer, () => void>()
  private closed = false

  constructor(nodes: Nodes, runtime: Runtime, times: NodeTimes, waiting: WaitingClaims, inbox: string) {
    this.nodes = nodes
    this.runtime = runtime
    this.times = times
    this.waiting = waiting
    this.inbox = inbox
  }

  hold(claim: Claim): Promise<ClaimAnswer> {
    if (claim.replaces === claim.id) return this.downgrade(claim)
    const election = ++this.begun
    this.latest.set(claim.id, election)
    return this.elect(claim, election, 0)
  }

  /** The claim is released: an open election neither goes on nor takes anything back. */
  end(id: string): void {
    this.latest.delete(id)
    this.missed.delete(id)
  }

  isOpen(id: string): boolean {
    return this.latest.has(id)
  }

  get lastBallot(): number {
    return this.times.lastBallot
  }

  /** A node that blocked a claim which the others granted now has room for it, and keeps that room for a moment. */
  called(node: number, id: string): void {
    const missed = this.missed.get(id)
    if (missed === undefined || this.runtime.nowMs() >= missed.untilMs) return
    const { claim, seq } = missed
    const wanted = { ...claim, queue: false, replaces: null }
    this.nodes.tell(node, { kind: 'claim', claim: wanted, inbox: this.inbox, ballot: seq, ticket: seq })
  }

  private async elect(claim: Claim, election: number, repeats: number): Promise<ClaimAnswer> {
    if (this.closed) throw new ClosedError()
    const { runtime, nodes } = this
    const ballot = this.times.propose()
    const needed = votesNeeded(claim.mode, nodes.size)
    const ticket = this.waiting.asks(claim, this.times.ticket(ballot), needed)
    const question: Question = { kind: 'claim', claim, inbox: this.inbox, ballot, ticket }
    const askedAtMs = runtime.nowMs()
    const round = nodes.ask(question)
    const verdict = await round.decided
    if (verdict === 'met') {
      const seq = this.agreed(claim, round, round) ?? (await this.agreeOnToken(claim, round))
      if (seq !== null) {
        this.waiting.forget(claim.id)
        this.over(claim.id, election)
        if (claim.queue && round.yes < round.nodes) this.miss(claim, seq, askedAtMs + claim.ttlMs)
        return this.granted(claim, round, seq)
      }
    }
    // A later attempt of the same claim may hold by now, and a roll-back would end that hold.
    const alone = this.latest.get(claim.id) === election
    if (alone) this.takeBack(round, ballot)
    const pauseMs = this.pauseMs(runtime.nowMs() - askedAtMs, repeats + this.waiting.splits(claim.id))
    const refusal = await refusalOf(round)
    // Some nodes said yes, or they disagree: a repeated vote may end differently.
    const split = round.yes > 0 || (refusal === null && round.votes.some((vote) => vote?.kind === 'refused'))
    if (alone && !round.outage && refusal === null && split && !claim.queue && repeats < MOST_REPEATS) {
      await this.pause(pauseMs)
      if (this.latest.get(claim.id) === election) return this.elect(claim, election, repeats + 1)
    }
    if (this.over(claim.id, election)) {
      if (refusal !== null) this.waiting.forget(claim.id)
      else this.waiting.waits(claim.id, split)
    }
    if (round.outage) throw nodes.outage(round)
    return refusal ?? blockedOf(round, split ? pauseMs : null)
  }

  private miss(claim: Claim, seq: number, untilMs: number): void {
    this.missed.set(claim.id, { claim, seq, untilMs })
    if (this.missed.size <= MOST_MISSED) return
    for (const id of this.missed.keys()) {
      this.missed.delete(id)
      return
    }
  }

  /**
   * While no node has said yes there is nothing to take back: a waiter that only polls costs one call to each node. A late vote, or
   * one that a silent node may have given, is taken back later.
   */
  private takeBack(round: Round, ballot: number): void {
    const { nodes } = this
    if (round.yes > 0 || round.failed > 0) {
      nodes.rollBack(round, ballot)
      return
    }
    let done = false
    const back = (): void => {
      if (done || this.latest.has(round.question.claim.id)) return
      done = true
      nodes.rollBack(round, ballot)
    }
    round.late = (_, vote) => {
      if (vote.kind === 'granted') back()
    }
    round.whenComplete = () => {
      if (round.failed > 0) back()
    }
  }

  /**
   * A writer becomes a reader. It holds the key throughout, so missing votes take nothing back: that would end the hold itself.
   */
  private async downgrade(claim: Claim): Promise<ClaimAnswer> {
    if (this.closed) throw new ClosedError()
    const { nodes, inbox } = this
    const ballot = this.times.propose()
    const question: Question = { kind: 'claim', claim, inbox, ballot, ticket: ballot }
    const round = nodes.ask(question)
    if ((await round.decided) === 'met')
      return this.granted(claim, round, Math.max(...grantsOf(round).map(({ seq }) => seq)))
    if (round.denied) return refused('absent', 'the lease is no longer held')
    throw nodes.outage(round)
  }

  /** False when a later election of the claim has begun, or the claim was released. */
  private over(id: string, election: number): boolean {
    return this.latest.get(id) === election && this.latest.delete(id)
  }

  close(): void {
    this.closed = true
    for (const [timer, end] of this.pauses) {
      timer.clear()
      end()
    }
  }

  /**
   * The sequence number that enough nodes agree on after a round, or null. Any later majority shares a node with them, so its
   * number will be higher.
   */
  private agreed(claim: Claim, round: Round, asked: Round): number | null {
    const common = commonOf(asked, round.needed)
    if (common !== null) this.settle(claim, asked, common)
    return common
  }

  /** Asks the nodes to agree on one number; null if they could not. */
  private async agreeOnToken(claim: Claim, round: Round): Promise<number | null> {
    let asked = round
    for (let raised = 0; raised < MOST_RAISES; raised++) {
      // Readers that raise their numbers at the same time must try different ones.
      const apart = raised === 0 ? 0 : Math.ceil(this.runtime.random() * 1000)
      const question: Question = { kind: 'raise', claim, seq: Math.max(...seqsOf(asked)) + apart }
      asked = this.nodes.ask(question)
      if ((await asked.decided) === 'hopeless') return null
      const common = this.agreed(claim, round, asked)
      if (common !== null) return common
    }
    return null
  }

  /** A node with another number for the claim, now or later, takes over the one of the lease. */
  private settle(claim: Claim, round: Round, seq: number): void {
    const correct = (node: number, vote: Vote | undefined): void => {
      if (vote !== undefined && 'seq' in vote && vote.seq !== seq)
        this.nodes.tell(node, { kind: 'renew', claim, seq })
    }
    for (let node = 0; node < round.nodes; node++) correct(node, round.votes[node])
    round.late = correct
  }

  private granted({ owner }: Claim, round: Round, seq: number): ClaimAnswer {
    let contended = false
    for (const vote of round.votes) if (vote?.kind === 'granted' && vote.contended) contended = true
    return { kind: 'granted', token: tokenOf(seq), spare: owner === null ? SPARE_TOKENS : 0, contended }
  }

  /** Random, so that claims that split the vote do not meet again; several rounds long, and longer each time. */
  private pauseMs(roundMs: number, splits: number): number {
    const spreadMs = Math.min((4 * roundMs + SHORTEST_PAUSE_MS) * 2 ** Math.min(splits, 10), LONGEST_PAUSE_MS)
    return SHORTEST_PAUSE_MS + this.runtime.random() * spreadMs
  }

  private pause(delayMs: number): Promise<void> {
    if (this.closed) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        this.pauses.delete(timer)
        resolve()
      }
      const timer = this.runtime.setTimer(end, delayMs, false)
      this.pauses.set(timer, end)
    })
  }
}

function seqsOf({ votes }: Round): number[] {
  const seqs: number[] = []
  for (const vote of votes) if (vote !== undefined && 'seq' in vote) seqs.push(vote.seq)
  return seqs
}

/** The number that enough nodes have, or null. */
function commonOf(round: Round, needed: number): number | null {
  const seqs = seqsOf(round)
  for (const seq of seqs) {
    let count = 0
    for (const other of seqs) if (other === seq) count++
    if (count >= needed) return seq
  }
  return null
}

function grantsOf({ votes }: Round): VoteGranted[] {
  return votes.filter((vote): vote is VoteGranted => vote?.kind === 'granted')
}

/** One node may not know yet that a key is free, so a refusal counts only from a majority. */
async function refusalOf(round: Round): Promise<Refused | null> {
  const refusals = () => round.votes.filter((vote): vote is Refused => vote?.kind === 'refused')
  const majority = majorityOf(round.nodes)
  for (;;) {
    const count = refusals().length
    if (count >= majority) return refusals()[0] as Refused
    if (count === 0 || count + round.open < majority) return null
    await round.untilHeard(round.yes + round.no + 1)
  }
}
