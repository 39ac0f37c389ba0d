import {
  type Claim,
  type Hold,
  type KeyState,
  type Member,
  type Mode,
  type QueuedClaim,
  viewOf,
} from '../../../model/index.ts'
import type { NodeNotification, NodeView } from '../protocol.ts'

/** How long a waiter that was called may take to come before it loses its position. */
export const CALL_MS = 1000
/** A proposed sequence number may be this far ahead of a node's clock. */
export const AHEAD_US = 86_400_000_000
/** How long a node remembers the last sequence number after it was last changed. */
export const KEEP_SEQ_MS = 86_400_000
/** How many expired claims one step drops, and how many waiters all steps of one request call; the next step goes on. */
export const MOST_PER_STEP = 100
/** A lock is a semaphore for this many readers; a writer takes all of it. */
export const LOCK_CAPACITY = 1_000_000_000

/** A claim that has this node's vote. */
export interface Voter extends Member {
  /** The highest ballot that the vote was given to. */
  readonly ballot: number
  readonly ticket: number
  /** The claim as it came: a waiter that gives its vote back returns to the queue. */
  readonly claim: Claim
}

export interface NodeHold extends Hold {
  readonly members: readonly Voter[]
}

/** A claim in the queue. For a called waiter `expiresAtMs` is the end of the call. */
export interface NodeWaiter extends QueuedClaim {
  readonly ticket: number
  /** The node has told the waiter that the key is free, and keeps room for it. */
  readonly called: boolean
}

/** Everything a node remembers about one key. The queue is in the order of the tickets, then of the ids. */
export interface NodeState extends KeyState {
  readonly holds: readonly NodeHold[]
  readonly queue: readonly NodeWaiter[]
}

export const UNKNOWN_KEY: NodeState = { holds: [], queue: [], seq: 0, seqKeptUntilMs: 0, closedUntilMs: 0 }

/** A notification and the inbox that it goes to. */
export interface AddressedNotification {
  readonly inbox: string | null
  readonly notification: NodeNotification
}

/** How much of a key's capacity a hold takes. */
export function capacityTaken(mode: Mode): number {
  if (mode.kind === 'permits') return mode.weight
  return mode.kind === 'shared' ? 1 : LOCK_CAPACITY
}

export function capacityOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.limit : LOCK_CAPACITY
}

/** The order of the queue: by ticket; of two with the same ticket every node takes the same one first. */
export function isBefore(
  a: { readonly ticket: number; readonly id: string },
  b: { readonly ticket: number; readonly id: string },
): boolean {
  return a.ticket < b.ticket || (a.ticket === b.ticket && a.id < b.id)
}

export function voterOf(claim: Claim, inbox: string, ballot: number, ticket: number, nowMs: number): Voter {
  const { id, label, actor, meta, lockDelayMs, ttlMs } = claim
  const member = { id, label, actor, meta, lockDelayMs, inbox }
  return { ...member, expiresAtMs: nowMs + ttlMs, sinceMs: nowMs, ballot, ticket, claim }
}

export function nodeView(key: string, state: NodeState, nowMs: number): NodeView {
  return {
    view: viewOf(key, state, nowMs),
    holderIds: state.holds.flatMap(({ members }) => members.map(({ id }) => id)),
    waiterIds: state.queue.map(({ claim }) => claim.id),
  }
}
