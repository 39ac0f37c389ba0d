import type { Alarm } from '../../core/alarms.ts'
import type { Claim } from '../../model/index.ts'
import type { PlaceName } from './names.ts'
import type { LockSession } from './sessions.ts'

/**
 * `asked`: its node may be there or not. `waiting`: it stands in the line. `offered`: it holds the key, and nobody has
 * confirmed that yet. `closed`: it expired and keeps the key closed. `leaving`: its node is being deleted, or may be.
 * `over`: it expired, and its node has to go.
 */
export type Phase = 'asked' | 'waiting' | 'offered' | 'held' | 'closed' | 'leaving' | 'over'

/** The node that stands for a claim. */
export interface OwnNode {
  readonly name: string
  readonly path: string
  /** Where it stands, and whose czxid its token is made from. */
  readonly place: PlaceName
}

/** What this process knows of one of its claims. */
export class Entry implements Alarm {
  claim: Claim
  readonly keyPath: string
  session: LockSession | null = null
  phase: Phase = 'asked'
  node: OwnNode | null = null
  /** When the claim ends unless it is renewed, on our own monotonic clock. */
  deadlineMs: number
  /** Until then its node is there by the word of a majority, whatever its server may not have heard yet. */
  provenUntilMs = 0
  /** When it came to hold the key; when it came at all, before that. */
  heldAtMs: number
  /** Whether others wait in the line, as far as we know. */
  contended = false
  /** Nobody else had a node when we last looked: the container can go together with ours. */
  alone = false
  /** Names of the nodes whose end we will be told. */
  readonly watched = new Set<string>()
  /** Whom we saw before us. */
  holder: { readonly name: string; readonly label: string; readonly sinceMs: number } | null = null
  /** Whether we will be told when our own node changes or goes, and when somebody joins the line. */
  nodeWatched = false
  lineWatched = false
  /** Its node is being replaced by another. */
  isMoving = false
  /** Whether we will be told when an operator writes to the key; and how many requests to let go we were told. */
  asksWatched = false
  asks = 0
  dueMs = 0
  place = -1
  private turn: Promise<void> | null = null
  private readonly onRing: (entry: Entry, nowMs: number) => void

  constructor(claim: Claim, keyPath: string, nowMs: number, onRing: (entry: Entry, nowMs: number) => void) {
    this.claim = claim
    this.keyPath = keyPath
    this.heldAtMs = nowMs
    this.deadlineMs = nowMs + claim.ttlMs
    this.onRing = onRing
  }

  get holds(): boolean {
    return this.phase === 'held' || this.phase === 'offered'
  }

  ring(nowMs: number): void {
    this.onRing(this, nowMs)
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
