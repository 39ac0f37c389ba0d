import type { Ballots, Question } from '../../../src/stores/quorum/protocol.ts'
import type { Fail } from '../violation.ts'

/** A node that may keep a vote of a round that was taken back elsewhere. */
interface Owed {
  readonly key: string
  readonly ttlMs: number
  readonly sinceMs: number
}

/**
 * The questions of one session to each node. A round that is taken back at one node is taken back at all that were asked and have not
 * said no: a leaked vote keeps others out for a whole ttl.
 */
export class LeakedVotes {
  private readonly fail: Fail
  private readonly nowMs: () => number
  /** By node and claim: what was asked for last, while the node may have said yes. */
  private readonly asked: readonly Map<string, { readonly ballot: number; readonly atMs: number }>[]
  private readonly owed: readonly Map<string, Owed>[]
  /** A release that a node did not get is sent to it again, and says nothing about the others by then. */
  private readonly known = new WeakSet<Question>()

  constructor(nodes: number, fail: Fail, nowMs: () => number) {
    this.fail = fail
    this.nowMs = nowMs
    this.asked = Array.from({ length: nodes }, () => new Map())
    this.owed = Array.from({ length: nodes }, () => new Map())
  }

  /** Returns when that was. */
  sent(node: number, questions: readonly Question[]): number {
    for (const question of questions) {
      const { id } = question.claim
      if (question.kind === 'claim') {
        this.asked[node]?.set(id, { ballot: question.ballot, atMs: this.nowMs() })
        this.owed[node]?.delete(id)
      } else if (question.kind === 'release') {
        this.asked[node]?.delete(id)
        this.owed[node]?.delete(id)
        this.owe(question)
      }
    }
    return this.nowMs()
  }

  /** A later question must not be answered before a pending roll-back was sent. */
  answered(node: number, questions: readonly Question[], { votes }: Ballots, sentAtMs: number): void {
    for (const [index, { kind, claim }] of questions.entries()) {
      const vote = votes[index]
      if (kind !== 'claim' || (vote !== undefined && 'kind' in vote && vote.kind === 'granted')) continue
      this.asked[node]?.delete(claim.id)
      this.owed[node]?.delete(claim.id)
    }
    const nowMs = this.nowMs()
    for (const [id, owed] of this.owed[node] ?? []) {
      if (nowMs >= owed.sinceMs + owed.ttlMs) this.owed[node]?.delete(id)
      else if (owed.sinceMs < sentAtMs)
        this.fail('stray vote', `${owed.key}: ${id} was taken back, but not from n${node + 1}`)
    }
  }

  private owe(release: Question & { kind: 'release' }): void {
    if (this.known.has(release)) return
    this.known.add(release)
    const { claim, ballot } = release
    const { id, key, ttlMs } = claim
    const sinceMs = this.nowMs()
    for (const [node, asked] of this.asked.entries()) {
      const last = asked.get(id)
      // A claim of the same moment may come after the release of an earlier round.
      if (last === undefined || last.ballot > ballot || last.atMs === sinceMs || this.owed[node]?.has(id))
        continue
      this.owed[node]?.set(id, { key, ttlMs, sinceMs })
    }
  }
}
