import type { RenewReply } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { Assembly } from './assembly.ts'
import { outage } from './failures.ts'
import type { Question, Vote } from './protocol.ts'
import type { Round } from './round.ts'
import { votesNeeded } from './tally.ts'

interface Renewal {
  ended: boolean
}

/** Renewals: enough nodes must still have the claim; those that came back without it get it again. */
export class Extensions {
  private readonly assembly: Assembly
  private readonly inbox: string
  private readonly timeoutMs: (ttlMs: number) => number
  /** Renewals that some node has not answered yet, by the claim's id. */
  private readonly open = new Map<string, Renewal>()

  constructor(assembly: Assembly, inbox: string, timeoutMs: (ttlMs: number) => number) {
    this.assembly = assembly
    this.inbox = inbox
    this.timeoutMs = timeoutMs
  }

  async renew(claim: Claim): Promise<RenewReply> {
    const { assembly } = this
    const needed = votesNeeded(claim.mode, assembly.size)
    const round = assembly.ask({ kind: 'renew', claim, seq: 0 }, needed, this.timeoutMs(claim.ttlMs))
    const renewal = this.follow(claim.id, round)
    if ((await round.decided) === 'met') {
      this.topUp(claim, round, renewal)
      const contended = round.votes.some((vote) => vote?.kind === 'renewed' && vote.contended)
      return { kind: 'renewed', contended }
    }
    if (round.denied) return { kind: 'lost' }
    return { kind: 'unknown', error: outage(round, assembly.lanes) }
  }

  /** The claim is released: a node that says late that it had lost it must not get it again. */
  end(id: string): void {
    const renewal = this.open.get(id)
    if (renewal !== undefined) renewal.ended = true
    this.open.delete(id)
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

  /** The claim is alive at enough nodes, so giving it to the others creates nothing; they learn its number, too. */
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
      if (vote?.kind === 'lost' && !renewal.ended) this.assembly.tell(node, again)
    }
    for (const [node, vote] of round.votes.entries()) missing(node, vote)
    round.late = missing
  }
}
