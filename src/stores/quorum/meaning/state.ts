import type { Claim, Hold, KeyState, Member, Waiter } from '../../../model/index.ts'
import type { Call } from '../protocol.ts'

/** Life of a call to a waiter: whoever was called and does not come gives up its place. */
export const CALL_MS = 1000
/** A proposed sequence number may be this far ahead of a node's clock. */
export const AHEAD_US = 86_400_000_000
/** How long a node remembers the last sequence number after it was last changed. */
export const KEEP_SEQ_MS = 86_400_000

/** A claim that has this node's vote. */
export interface Voter extends Member {
  /** The highest ballot that the vote was given to. */
  readonly ballot: number
}

export interface Seat extends Hold {
  readonly members: readonly Voter[]
}

/** A claim that wants to be called when the key is free. */
export interface Watcher extends Waiter {
  readonly ticket: number
  /** 0 when it has not been called. */
  readonly calledUntilMs: number
}

/** Everything a node remembers about one key. The line is in the order of the tickets. */
export interface NodeState extends KeyState {
  readonly holds: readonly Seat[]
  readonly line: readonly Watcher[]
}

export const UNKNOWN_KEY: NodeState = { holds: [], line: [], seq: 0, seqKeptUntilMs: 0, closedUntilMs: 0 }

/** What a node tells, and the inbox it is for. */
export interface NodeLetter {
  readonly inbox: string | null
  readonly call: Call
}

export function voterOf(claim: Claim, inbox: string, ballot: number, nowMs: number): Voter {
  const { id, label, actor, meta, lockDelayMs, ttlMs } = claim
  return {
    id,
    ballot,
    expiresAtMs: nowMs + ttlMs,
    sinceMs: nowMs,
    label,
    actor,
    meta,
    lockDelayMs,
    inbox,
  }
}
