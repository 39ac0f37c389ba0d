import type { Blocked, Claim, KeyView, Refused } from '../../model/index.ts'

/** The ballot of a final release: it ends every vote and position of the claim at a node. */
export const EVERY_BALLOT = Number.MAX_SAFE_INTEGER

/** A ballot below this is no time in microseconds: the node chooses the sequence number. */
export const FIRST_PROPOSAL = 1_000_000_000_000

/**
 * A question to a node about one claim. A ballot is the number of a round and at the same time the sequence number that the round
 * proposes; ballots of one store rise.
 */
export type Question =
  | {
      readonly kind: 'claim'
      readonly claim: Claim
      readonly inbox: string
      readonly ballot: number
      /** The first ballot of the claim: an earlier one goes first, at every node. */
      readonly ticket: number
    }
  | {
      /** Takes a position in the queue, or keeps it, and gets no vote. */
      readonly kind: 'join'
      readonly claim: Claim
      readonly inbox: string
      readonly ticket: number
    }
  | {
      /** Keeps a vote or a position in the queue. */
      readonly kind: 'renew'
      readonly claim: Claim
      /** The lease's sequence number, which the node takes over; 0 leaves it as it is. */
      readonly seq: number
    }
  | {
      /** Asks the node to keep this sequence number for the claim; the node takes a higher one if another claim may have this one. */
      readonly kind: 'raise'
      readonly claim: Claim
      readonly seq: number
    }
  | {
      readonly kind: 'release'
      readonly claim: Claim
      /**
       * Grants of later ballots stay: a late roll-back must not end a newer grant. After a roll-back a claim that waits stays in the
       * queue; only `EVERY_BALLOT` ends its position, too.
       */
      readonly ballot: number
    }

export interface VoteGranted {
  readonly kind: 'granted'
  readonly seq: number
  readonly contended: boolean
}

/** The claim has a position in the node's queue, and no vote. */
export interface VoteWaiting {
  readonly kind: 'waiting'
  readonly position: number
  readonly storeTimeMs: number
}

/** The proposed sequence number is more than a day ahead of the node's clock. */
export interface VoteAhead {
  readonly kind: 'ahead'
}

export type Vote =
  | VoteGranted
  | Blocked
  | Refused
  | VoteAhead
  | { readonly kind: 'renewed'; readonly seq: number; readonly contended: boolean }
  | VoteWaiting
  | { readonly kind: 'lost' }
  | { readonly kind: 'released' }
  | { readonly kind: 'absent' }

/** The votes of a node or errors, in the order of the questions, and its clock. */
export interface Ballots {
  readonly stampUs: number
  readonly votes: readonly (Vote | Error)[]
}

/** A message that a node sends by itself: `free` to a waiter that may come now, the others to a holder. */
export interface NodeNotification {
  readonly kind: 'free' | 'contended' | 'evicted' | 'revoked'
  readonly id: string
  readonly key: string
}

/** A key as one node has it, with the ids of its holders and waiters to match other nodes. */
export interface NodeView {
  readonly view: KeyView
  readonly holderIds: readonly string[]
  readonly waiterIds: readonly string[]
}

/** One of the servers that vote. */
export interface QuorumNode {
  /** Host and port, as errors name it. */
  readonly name: string
  /**
   * Sends now, or fails: nothing is queued. One of the callbacks is called later; earlier questions are answered earlier.
   */
  send(
    questions: readonly Question[],
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void
  /** Its clock, in microseconds. */
  timeUs(): Promise<number>
  /** The identity of the server, so that it is not counted twice; null if it does not tell. */
  identify(): Promise<string | null>
  /** Subscribes to `inbox`; `up` is called when messages start to flow, at first and after a gap. */
  listen(
    inbox: string,
    listener: (notification: NodeNotification) => void,
    up: () => void,
    needed: () => boolean,
  ): Promise<void>
  /** The view of each key, or an error. */
  read(keys: readonly string[]): Promise<readonly (NodeView | Error)[]>
  /** The keys that begin with `prefix`, by pages; one may come twice. */
  scan(prefix: string): AsyncIterable<readonly string[]>
  /** Ends the holds of these claims, or asks their holders to let go. */
  evict(key: string, ids: readonly string[], ask: boolean): Promise<void>
  close(): Promise<void>
}
