import type { TimerEntry } from '../../core/calls/timer-heap.ts'
import type { Claim } from '../../model/index.ts'
import type { Desk } from './desk.ts'
import type { LockSession } from './lock-session.ts'
import { nodeStem, type PlaceName } from './names.ts'

/**
 * `asked`: its node may be there or not. `waiting`: it stands in the queue. `offered`: it holds the key, and nobody has
 * confirmed that yet. `closed`: it expired and keeps the key closed. `leaving`: its node is being deleted, or may be.
 * `over`: it expired, and its node has to go.
 */
export type Phase = 'asked' | 'waiting' | 'offered' | 'held' | 'closed' | 'leaving' | 'over'

/** The node that stands for a claim. */
export interface OwnNode {
  readonly name: string
  readonly path: string
  /** Its position, and the czxid that its token is made from. */
  readonly place: PlaceName
}

/** A length, a slash, a place that is told by its number and its founder, and the number that ZooKeeper adds. */
const LONGEST_REST = 4 + 1 + 28 + 11

/** What this process knows of one of its claims. */
export class Entry implements TimerEntry {
  claim: Claim
  readonly desk: Desk
  readonly keyPath: string
  /** What the path of its node takes in the transaction that ends its session, at most. */
  readonly bytes: number
  session: LockSession | null = null
  phase: Phase = 'asked'
  node: OwnNode | null = null
  /** When the claim ends unless it is renewed, on our own monotonic clock. */
  deadlineMs: number
  /** Until then its node is there by the word of a majority, whatever its server may not have heard yet. */
  provenUntilMs = 0
  readonly madeAtMs: number
  /** When it came to hold the key; when it came at all, before that. */
  heldAtMs: number
  /** Whether others wait in the queue, as far as we know. */
  contended = false
  /** Nobody else had a node when we last looked: the container can go together with ours. */
  alone = false
  /** Whether we have asked to be told when our own node changes or goes, and whether the server has said that it will. */
  nodeWatched = false
  nodeArmed = false
  /** Its node is being made anew. */
  isMoving = false
  /** Whether we will be told when an operator writes to the key; and how many requests to let go we were told. */
  asksWatched = false
  asks = 0
  dueMs = 0
  index = -1
  private turn: Promise<void> | null = null

  constructor(desk: Desk, claim: Claim, keyPath: string, nowMs: number) {
    this.desk = desk
    this.claim = claim
    this.keyPath = keyPath
    this.bytes = Buffer.byteLength(keyPath) + nodeStem(claim, null).length + LONGEST_REST
    this.madeAtMs = nowMs
    this.heldAtMs = nowMs
    this.deadlineMs = nowMs + claim.ttlMs
  }

  get holds(): boolean {
    return this.phase === 'held' || this.phase === 'offered'
  }

  /** Nothing is left to be asked about it. */
  get isOver(): boolean {
    return this.phase === 'closed' || this.phase === 'over'
  }

  fire(nowMs: number): void {
    this.desk.events.ring(this, nowMs)
  }

  /** One thing after the other: a claim that is sent again meets what became of the first. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn === null ? work() : this.turn.then(work)
    const end = (): void => {
      if (this.turn === settled) this.turn = null
    }
    const settled: Promise<void> = result.then(end, end)
    this.turn = settled
    return result
  }
}
