import { type Clock, covers, fits, ownHold } from '../../../model/index.ts'
import type { Call } from '../protocol.ts'
import {
  CALL_MS,
  KEEP_SEQ_MS,
  type NodeLetter,
  type NodeState,
  type Seat,
  type Voter,
  type Watcher,
} from './state.ts'

/** The state of one key at a node while a question changes it. Its arrays are replaced, never mutated. */
export class NodeDraft {
  holds: readonly Seat[]
  line: readonly Watcher[]
  seq: number
  seqKeptUntilMs: number
  closedUntilMs: number
  readonly letters: NodeLetter[] = []
  readonly nowMs: number
  private readonly key: string

  constructor(key: string, state: NodeState, clock: Clock) {
    this.key = key
    this.holds = state.holds
    this.line = state.line
    this.seq = state.seq
    this.seqKeptUntilMs = state.seqKeptUntilMs
    this.closedUntilMs = state.closedUntilMs
    this.nowMs = clock.nowMs
    this.sweep()
  }

  finish(): NodeState {
    const { holds, line, seq, seqKeptUntilMs, closedUntilMs } = this
    return { holds, line, seq, seqKeptUntilMs, closedUntilMs }
  }

  get closed(): boolean {
    return this.closedUntilMs > this.nowMs
  }

  find(id: string): { hold: Seat; voter: Voter } | undefined {
    for (const hold of this.holds) {
      for (const voter of hold.members) if (voter.id === id) return { hold, voter }
    }
    return undefined
  }

  /** Replaces a voter of a hold, or takes it out; a hold without voters is over. */
  change(hold: Seat, old: Voter, voter: Voter | null, mode = hold.mode, seq = hold.seq): void {
    const members = hold.members.flatMap((each) => (each !== old ? [each] : voter === null ? [] : [voter]))
    this.holds =
      members.length === 0
        ? this.holds.filter((each) => each !== hold)
        : this.holds.map((each) => (each === hold ? { ...hold, mode, seq, members } : each))
  }

  add(hold: Seat): void {
    this.holds = [...this.holds, hold]
  }

  join(hold: Seat, voter: Voter): void {
    this.holds = this.holds.map((each) =>
      each === hold ? { ...hold, members: [...hold.members, voter] } : each,
    )
  }

  /** Remembers a sequence number; a lower one changes nothing. */
  remember(seq: number): void {
    this.seq = Math.max(this.seq, seq)
    this.seqKeptUntilMs = this.nowMs + KEEP_SEQ_MS
  }

  leave(id: string): boolean {
    const line = this.line.filter((watcher) => watcher.claim.id !== id)
    if (line.length === this.line.length) return false
    this.line = line
    return true
  }

  /** Takes a place in the line by ticket, or keeps it with what is new. */
  queue(watcher: Watcher): number {
    const others = this.line.filter((each) => each.claim.id !== watcher.claim.id)
    const behind = others.findIndex((each) => each.ticket > watcher.ticket)
    const place = behind < 0 ? others.length : behind
    this.line = [...others.slice(0, place), watcher, ...others.slice(place)]
    return place
  }

  /** Calls those at the head of the line that could come in together, and those who would join their own hold. */
  call(): void {
    if (this.line.length === 0 || this.closed) return
    const beside: Seat[] = [...this.holds]
    let open = true
    this.line = this.line.map((watcher) => {
      const { claim } = watcher
      const own = ownHold(this.holds, claim)
      const joins = own !== undefined && covers(own.mode, claim.mode)
      if (!joins) {
        open &&= own === undefined && fits(claim.mode, beside)
        if (!open) return watcher
        beside.push({ owner: claim.owner, mode: claim.mode, seq: 0, members: [] })
      }
      if (watcher.calledUntilMs > 0) return watcher
      this.tell(watcher.inbox, 'free', claim.id)
      return { ...watcher, calledUntilMs: this.nowMs + CALL_MS }
    })
  }

  tell(inbox: string | null, kind: Call['kind'], id: string): void {
    this.letters.push({ inbox, call: { kind, id, key: this.key } })
  }

  /** Drops what is dead and who did not come when called, then calls whom that lets in. */
  private sweep(): void {
    const { nowMs } = this
    const waits = ({ expiresAtMs, calledUntilMs }: Watcher) =>
      expiresAtMs > nowMs && (calledUntilMs === 0 || calledUntilMs > nowMs)
    if (!this.line.every(waits)) this.line = this.line.filter(waits)
    if (this.holds.some((hold) => hold.members.some((voter) => voter.expiresAtMs <= nowMs))) this.expire()
    this.call()
  }

  private expire(): void {
    const { nowMs } = this
    this.holds = this.holds.flatMap((hold) => {
      const members = hold.members.filter((voter) => voter.expiresAtMs > nowMs)
      if (members.length === hold.members.length) return [hold]
      for (const { expiresAtMs, lockDelayMs } of hold.members) {
        if (expiresAtMs <= nowMs && lockDelayMs > 0)
          this.closedUntilMs = Math.max(this.closedUntilMs, expiresAtMs + lockDelayMs)
      }
      return members.length === 0 ? [] : [{ ...hold, members }]
    })
  }
}
