import type { RenewReply } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { Elections } from './election.ts'
import type { Nodes } from './nodes.ts'
import { EVERY_BALLOT, type Question, type Vote } from './protocol.ts'
import { medianPosition, type Round } from './round.ts'
import { majorityOf } from './tally.ts'
import type { WaitingClaims } from './waiting-claims.ts'

interface Renewal {
  ended: boolean
}

/**
 * Renews holds that enough nodes still have, and positions in the queue. Nodes that came back without the claim get it again, but only
 * when enough others have it.
 */
export class Renewals {
  private readonly nodes: Nodes
  private readonly elections: Elections
  private readonly waiting: WaitingClaims
  private readonly inbox: string
  /** Renewals that some node has not answered yet, by claim id. */
  private readonly open = new Map<string, Renewal>()

  constructor(nodes: Nodes, elections: Elections, waiting: WaitingClaims, inbox: string) {
    this.nodes = nodes
    this.elections = elections
    this.waiting = waiting
    this.inbox = inbox
  }

  async renew(claim: Claim): Promise<RenewReply> {
    const { nodes } = this
    const waits = this.waiting.ticketOf(claim.id) !== null
    const round = nodes.ask({ kind: 'renew', claim, seq: 0 })
    const renewal = this.follow(claim.id, round)
    if ((await round.decided) === 'met') {
      if (!waits) this.topUp(claim, round, renewal)
      const contended = round.votes.some((vote) => vote?.kind === 'renewed' && vote.contended)
      return { kind: 'renewed', contended }
    }
    if (waits) return this.positionIn(claim, round)
    if (!round.denied) return { kind: 'unknown', error: nodes.outage(round) }
    // The claim will not come when one of these nodes calls it.
    for (const [node, vote] of round.votes.entries())
      if (vote?.kind === 'waiting') nodes.tell(node, { kind: 'release', claim, ballot: EVERY_BALLOT })
    return { kind: 'lost' }
  }

  /** The claim is released: a node that reports it lost too late must not get it again. */
  end(id: string): void {
    const renewal = this.open.get(id)
    if (renewal !== undefined) renewal.ended = true
    this.open.delete(id)
  }

  /** A waiter that a majority knows, in the queue or by a vote, keeps its position at all nodes. */
  private async positionIn(claim: Claim, round: Round): Promise<RenewReply> {
    const majority = majorityOf(round.nodes)
    const lost = () => round.votes.filter((vote) => vote?.kind === 'lost').length
    const known = () => round.yes + round.no - lost()
    // The votes so far show that the claim is no holder; more may be needed to show that it waits.
    while (round.open > 0 && known() < majority && lost() < majority)
      await round.untilHeard(round.yes + round.no + 1)
    if (known() < majority) {
      if (lost() > round.nodes - majority) return { kind: 'lost' }
      return { kind: 'unknown', error: this.nodes.outage(round) }
    }
    this.rejoin(claim, round)
    const positions: number[] = []
    let storeTimeMs = 0
    for (const vote of round.votes) {
      if (vote?.kind === 'renewed') positions.push(1)
      if (vote?.kind !== 'waiting') continue
      positions.push(vote.position)
      storeTimeMs = Math.max(storeTimeMs, vote.storeTimeMs)
    }
    return { kind: 'waiting', position: medianPosition(positions), storeTimeMs }
  }

  /** Nodes that lost the position get it again by its ticket; a vote that nobody counts is given back. */
  private rejoin(claim: Claim, round: Round): void {
    const ballot = this.elections.lastBallot
    const correct = (node: number, vote: Vote | undefined): void => {
      const ticket = this.waiting.ticketOf(claim.id)
      if (ticket === null || this.elections.isOpen(claim.id)) return
      if (vote?.kind === 'lost')
        this.nodes.tell(node, {
          kind: 'join',
          claim: { ...claim, queue: true },
          inbox: this.inbox,
          ticket,
        })
      else if (vote?.kind === 'renewed') this.nodes.tell(node, { kind: 'release', claim, ballot })
    }
    for (let node = 0; node < round.nodes; node++) correct(node, round.votes[node])
    round.late = correct
  }

  private follow(id: string, round: Round): Renewal {
    const renewal: Renewal = { ended: false }
    if (round.open === 0) return renewal
    this.open.set(id, renewal)
    const { whenComplete } = round
    round.whenComplete = () => {
      whenComplete?.()
      if (this.open.get(id) === renewal) this.open.delete(id)
    }
    return renewal
  }

  /** The claim is alive at enough nodes, so giving it to the others creates nothing; they also learn its number. */
  private topUp(claim: Claim, round: Round, renewal: Renewal): void {
    const seq = Math.max(...round.votes.map((vote) => (vote?.kind === 'renewed' ? vote.seq : 0)))
    const again: Question = {
      kind: 'claim',
      claim: { ...claim, queue: false, replaces: null },
      inbox: this.inbox,
      ballot: seq,
      ticket: seq,
    }
    const missing = (node: number, vote: Vote | undefined): void => {
      if ((vote?.kind === 'lost' || vote?.kind === 'waiting') && !renewal.ended) this.nodes.tell(node, again)
    }
    for (const [node, vote] of round.votes.entries()) missing(node, vote)
    round.late = missing
  }
}
