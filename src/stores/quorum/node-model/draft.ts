import { type Clock, covers, ownHold } from '../../../model/index.ts'
import type { NodeNotification } from '../protocol.ts'
import {
  type AddressedNotification,
  CALL_MS,
  capacityOf,
  capacityTaken,
  isBefore,
  KEEP_SEQ_MS,
  MOST_PER_STEP,
  type NodeHold,
  type NodeState,
  type NodeWaiter,
  type Voter,
} from './state.ts'

/** The state of one key at a node while a question changes it. Arrays are replaced, never mutated. */
export class NodeDraft {
  holds: readonly NodeHold[]
  queue: readonly NodeWaiter[]
  seq: number
  seqKeptUntilMs: number
  closedUntilMs: number
  readonly notifications: AddressedNotification[] = []
  readonly nowMs: number
  private readonly key: string
  private readonly calledBefore: number
  private calls = 0

  constructor(key: string, state: NodeState, clock: Clock, calledBefore: number) {
    this.key = key
    this.calledBefore = calledBefore
    this.holds = state.holds
    this.queue = state.queue
    this.seq = state.seq
    this.seqKeptUntilMs = state.seqKeptUntilMs
    this.closedUntilMs = state.closedUntilMs
    this.nowMs = clock.nowMs
    this.sweep()
  }

  finish(): NodeState {
    const { holds, queue, seq, seqKeptUntilMs, closedUntilMs } = this
    return { holds, queue, seq, seqKeptUntilMs, closedUntilMs }
  }

  get closed(): boolean {
    return this.closedUntilMs > this.nowMs
  }

  get used(): number {
    return this.holds.reduce((sum, { mode }) => sum + capacityTaken(mode), 0)
  }

  /** Room that is kept for called waiters. */
  get reserved(): number {
    return this.queue.reduce((sum, { called, claim }) => sum + (called ? capacityTaken(claim.mode) : 0), 0)
  }

  find(id: string): { hold: NodeHold; voter: Voter } | undefined {
    for (const hold of this.holds) {
      for (const voter of hold.members) if (voter.id === id) return { hold, voter }
    }
    return undefined
  }

  waiterOf(id: string): NodeWaiter | undefined {
    return this.queue.find(({ claim }) => claim.id === id)
  }

  /** Called waiters count first: they are about to leave the queue. */
  positionOf(id: string): number {
    const called = this.queue.filter((waiter) => waiter.called)
    const among = called.findIndex(({ claim }) => claim.id === id)
    if (among >= 0) return among + 1
    const rest = this.queue.filter((waiter) => !waiter.called)
    const index = rest.findIndex(({ claim }) => claim.id === id)
    return index < 0 ? 0 : called.length + index + 1
  }

  /** All holders, by the end of their votes. */
  voters(): readonly Voter[] {
    return this.holds
      .flatMap(({ members }) => members)
      .sort((a, b) => a.expiresAtMs - b.expiresAtMs || (a.id < b.id ? -1 : 1))
  }

  /** Replaces or removes a voter of a hold; a hold without voters is over. */
  change(hold: NodeHold, old: Voter, voter: Voter | null, mode = hold.mode, seq = hold.seq): void {
    const members = hold.members.flatMap((each) => (each !== old ? [each] : voter === null ? [] : [voter]))
    this.holds =
      members.length === 0
        ? this.holds.filter((each) => each !== hold)
        : this.holds.map((each) => (each === hold ? { ...hold, mode, seq, members } : each))
  }

  add(hold: NodeHold): void {
    this.holds = [...this.holds, hold]
  }

  join(hold: NodeHold, voter: Voter): void {
    this.holds = this.holds.map((each) =>
      each === hold ? { ...hold, members: [...hold.members, voter] } : each,
    )
  }

  /** Remembers the highest sequence number. */
  remember(seq: number): void {
    this.seq = Math.max(this.seq, seq)
    this.seqKeptUntilMs = this.nowMs + KEEP_SEQ_MS
  }

  leave(id: string): boolean {
    const queue = this.queue.filter((waiter) => waiter.claim.id !== id)
    if (queue.length === this.queue.length) return false
    this.queue = queue
    return true
  }

  /** Inserts or replaces a waiter, by its ticket. */
  enqueue(waiter: NodeWaiter): void {
    const others = this.queue.filter((each) => each.claim.id !== waiter.claim.id)
    const behind = others.findIndex((each) => isBefore(rankOf(waiter), rankOf(each)))
    const index = behind < 0 ? others.length : behind
    this.queue = [...others.slice(0, index), waiter, ...others.slice(index)]
  }

  /**
   * Calls waiters from the head of the queue while they fit beside the holders and the waiters called before. Beyond the limit of
   * the request a key still calls one; the next are called when that one comes or its call ends.
   */
  call(): void {
    while (!this.closed && (this.calls === 0 || this.calledBefore + this.calls < MOST_PER_STEP)) {
      const head = this.queue.find((waiter) => !waiter.called)
      if (head === undefined) return
      const { mode } = head.claim
      const own = ownHold(this.holds, head.claim)
      const comes =
        own === undefined
          ? this.used + this.reserved + capacityTaken(mode) <= capacityOf(mode)
          : covers(own.mode, mode)
      if (!comes) return
      this.callOne(head)
    }
  }

  /** Calls waiters that would join a new hold of their own owner, at any position. */
  callJoiners(hold: NodeHold): void {
    if (hold.owner === null || this.closed) return
    const joiners = this.queue
      .filter(({ called, claim }) => !called && claim.owner === hold.owner && covers(hold.mode, claim.mode))
      .sort((a, b) => (a.claim.id < b.claim.id ? -1 : 1))
    for (const waiter of joiners.slice(0, MOST_PER_STEP)) this.callOne(waiter)
  }

  tell(inbox: string | null, kind: NodeNotification['kind'], id: string): void {
    this.notifications.push({ inbox, notification: { kind, id, key: this.key } })
  }

  private callOne(waiter: NodeWaiter): void {
    const expiresAtMs = Math.min(waiter.expiresAtMs, this.nowMs + CALL_MS)
    this.enqueue({ ...waiter, called: true, expiresAtMs })
    this.calls++
    this.tell(waiter.inbox, 'free', waiter.claim.id)
  }

  /** Drops expired claims and called waiters that did not come, then calls the next. */
  private sweep(): void {
    const { nowMs } = this
    const gone = this.queue
      .filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
      .sort((a, b) => a.expiresAtMs - b.expiresAtMs || (a.claim.id < b.claim.id ? -1 : 1))
    for (const { claim } of gone.slice(0, MOST_PER_STEP)) this.leave(claim.id)
    for (const voter of this.voters().slice(0, MOST_PER_STEP))
      if (voter.expiresAtMs <= nowMs) this.expire(voter)
    this.call()
  }

  /** Ends a vote that ran out; a lock delay keeps the key closed. */
  expire(voter: Voter): void {
    const found = this.find(voter.id)
    if (found === undefined) return
    this.change(found.hold, found.voter, null)
    const { expiresAtMs, lockDelayMs } = voter
    if (lockDelayMs > 0) this.closedUntilMs = Math.max(this.closedUntilMs, expiresAtMs + lockDelayMs)
  }
}

function rankOf({ ticket, claim }: NodeWaiter): { ticket: number; id: string } {
  return { ticket, id: claim.id }
}
