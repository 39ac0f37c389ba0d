import type { TimerEntry } from '../../core/calls/timer-heap.ts'
import type { Claim, LossCause } from '../../model/index.ts'
import type { LockSession } from './client/lock-session.ts'
import { type StoreContext, tell } from './context.ts'
import { nodeStem, type PositionName } from './names.ts'

/**
 * `asked`: its node may or may not exist. `waiting`: it is in the queue. `offered`: it holds the key, and nothing has confirmed
 * that yet. `closed`: it expired and keeps the key closed. `leaving`: its node is being deleted, or may be.
 * `over`: it expired, and its node must be deleted.
 */
export type Phase = 'asked' | 'waiting' | 'offered' | 'held' | 'closed' | 'leaving' | 'over'

/** The node of a claim. */
export interface OwnNode {
  readonly name: string
  readonly path: string
  /** Its position, and the czxid that its token is made from. */
  readonly position: PositionName
}

/** A length, a slash, a position by number and founder, and the sequence number that ZooKeeper appends. */
const LONGEST_REST = 4 + 1 + 28 + 11
/** A hold that lasts longer than this watches its key; a shorter one costs no watch. */
const GUARD_AFTER_MS = 50
/** The same for a waiter, and for a hold that knows its waiters and watches only for requests of operators. */
const LASTS_MS = 250

/** A claim of this process, as far as it knows. */
export class LocalClaim implements TimerEntry {
  claim: Claim
  readonly context: StoreContext
  readonly keyPath: string
  /** The most bytes of its path in the transaction that ends its session. */
  readonly bytes: number
  session: LockSession | null = null
  phase: Phase = 'asked'
  node: OwnNode | null = null
  /** The claim ends at this time unless it is renewed, on our monotonic clock. */
  deadlineMs: number
  /** Until then a majority has confirmed its node, even if its own server is behind. */
  provenUntilMs = 0
  readonly madeAtMs: number
  /** The time of the grant; before that, of the attempt. */
  heldAtMs: number
  /** True if others wait in the queue, as far as we know. */
  contended = false
  /** There was no other node when we last looked: the container can be deleted together with ours. */
  alone = false
  /** A watch on our own node is requested; the server has confirmed it. */
  nodeWatched = false
  nodeArmed = false
  /** Its node is being remade. */
  isMoving = false
  /** A watch for requests of operators is requested; the number of requests so far. */
  asksWatched = false
  asks = 0
  dueMs = 0
  index = -1
  private turn: Promise<void> | null = null

  constructor(context: StoreContext, claim: Claim, nowMs: number) {
    this.context = context
    this.claim = claim
    this.keyPath = context.paths.lock(claim.key)
    this.bytes = Buffer.byteLength(this.keyPath) + nodeStem(claim, null).length + LONGEST_REST
    this.madeAtMs = nowMs
    this.heldAtMs = nowMs
    this.deadlineMs = nowMs + claim.ttlMs
  }

  get holds(): boolean {
    return this.phase === 'held' || this.phase === 'offered'
  }

  get isOver(): boolean {
    return this.phase === 'closed' || this.phase === 'over'
  }

  fire(nowMs: number): void {
    this.context.events.due(this, nowMs)
  }

  /** Runs the operations of a claim one by one: a resent claim meets the result of the first. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn === null ? work() : this.turn.then(work)
    const end = (): void => {
      if (this.turn === settled) this.turn = null
    }
    const settled: Promise<void> = result.then(end, end)
    this.turn = settled
    return result
  }

  /** Moves the claim to a session, which has counted its bytes already; frees those in another session. */
  attach(session: LockSession): void {
    if (this.session !== session) this.detach()
    this.session = session
    session.usedAtMs = this.context.runtime.nowMs()
    session.hasServed = true
    session.claims.add(this)
  }

  private detach(): void {
    const { session, bytes } = this
    if (session === null || !session.claims.has(this)) return
    session.leave(this)
    this.context.sessions.giveBack(session, bytes)
  }

  stand(node: OwnNode, alone: boolean): void {
    this.node = node
    this.alone = alone
  }

  /** Holds the key until `untilMs`; a renewal never shortens that. */
  hold(phase: 'held' | 'offered', untilMs: number): void {
    // An offer may shorten the deadline of the waiter that it was.
    this.deadlineMs = phase === 'offered' ? untilMs : Math.max(this.deadlineMs, untilMs)
    const begins = !this.holds
    this.phase = phase
    if (begins) {
      this.heldAtMs = this.context.runtime.nowMs()
      this.wakeWithin(this.contended ? LASTS_MS : GUARD_AFTER_MS)
    } else this.wakeAt(Math.min(this.dueMs, this.deadlineMs))
  }

  /** Keeps the position in the queue until `untilMs`. */
  wait(untilMs: number): void {
    const begins = this.phase !== 'waiting'
    this.phase = 'waiting'
    this.deadlineMs = Math.max(this.deadlineMs, untilMs)
    if (begins) this.wakeWithin(LASTS_MS)
  }

  wakeAt(dueMs: number): void {
    this.context.deadlines.set(this, dueMs)
  }

  private wakeWithin(delayMs: number): void {
    this.wakeAt(Math.min(this.deadlineMs, this.context.runtime.nowMs() + delayMs))
  }

  /** Forgets a claim that has nothing in ZooKeeper. */
  forget(): void {
    const { claims, deadlines } = this.context
    this.phase = 'over'
    deadlines.remove(this)
    this.detach()
    const { key, id } = this.claim
    if (claims.get(id + key) === this) claims.delete(id + key)
  }

  /** An operator, or the end of the session, has ended the claim. A waiter has to join the queue again. */
  lose(cause: LossCause): void {
    const { key, id } = this.claim
    const { holds, phase } = this
    this.forget()
    if (holds) tell(this.context, { kind: 'lost', key, id, cause })
    else if (phase === 'waiting') tell(this.context, { kind: 'retry', key, id })
  }
}

/** From now on the claim ends at its deadline, whatever the outcome of the calls about it. */
export function enterClaim(context: StoreContext, claim: Claim, sentAtMs: number): LocalClaim {
  const local = new LocalClaim(context, claim, sentAtMs)
  context.claims.set(claim.id + claim.key, local)
  local.wakeAt(local.deadlineMs)
  return local
}
