import type { RenewReply } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import type { Assembly } from './assembly.ts'
import { outage } from './failures.ts'
import type { Question } from './protocol.ts'
import type { Round } from './round.ts'
import { votesNeeded } from './tally.ts'

/** Renewals: enough nodes must still have the claim; those that came back without it get it again. */
export class Extensions {
  private readonly assembly: Assembly
  private readonly inbox: string
  private readonly timeoutMs: (ttlMs: number) => number

  constructor(assembly: Assembly, inbox: string, timeoutMs: (ttlMs: number) => number) {
    this.assembly = assembly
    this.inbox = inbox
    this.timeoutMs = timeoutMs
  }

  async renew(claim: Claim): Promise<RenewReply> {
    const { assembly } = this
    const needed = votesNeeded(claim.mode, assembly.size)
    const round = assembly.ask({ kind: 'renew', claim, seq: 0 }, needed, this.timeoutMs(claim.ttlMs))
    if ((await round.decided) === 'met') {
      this.topUp(claim, round)
      const contended = round.votes.some((vote) => vote?.kind === 'renewed' && vote.contended)
      return { kind: 'renewed', contended }
    }
    if (round.denied) return { kind: 'lost' }
    return { kind: 'unknown', error: outage(round, assembly.lanes) }
  }

  /** The claim is alive at enough nodes, so giving it to the others creates nothing; they learn its number, too. */
  private topUp(claim: Claim, round: Round): void {
    const seq = Math.max(...round.votes.map((vote) => (vote?.kind === 'renewed' ? vote.seq : 0)))
    const again: Question = {
      kind: 'claim',
      claim: { ...claim, queue: false, replaces: null },
      inbox: this.inbox,
      ballot: seq,
      ticket: seq,
    }
    const missing = (node: number): void => this.assembly.tell(node, again)
    for (const [node, vote] of round.votes.entries()) if (vote?.kind === 'lost') missing(node)
    round.late = (node, vote) => {
      if (vote.kind === 'lost') missing(node)
    }
  }
}
