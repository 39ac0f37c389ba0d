import type { Blocked, Claim, KeyView, Refused } from '../../model/index.ts'

/** The ballot of a final release: it ends whatever the claim has at a node. */
export const EVERY_BALLOT = Number.MAX_SAFE_INTEGER

/** A ballot below this is no time in microseconds: it leaves the sequence number to the node. */
export const FIRST_PROPOSAL = 1_000_000_000_000

/**
 * What a node is asked about one claim. A ballot is the number of a round and at the same time the sequence number that
 * the round proposes; ballots of one store rise.
 */
export type Question =
  | {
      readonly kind: 'claim'
      readonly claim: Claim
      readonly inbox: string
      readonly ballot: number
      /** The first ballot of the claim: who asked earlier goes first, at every node. */
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
      /** Asks the node to keep this sequence number for the claim; it gives a higher one if it may have given this away. */
      readonly kind: 'raise'
      readonly claim: Claim
      readonly seq: number
    }
  | {
      readonly kind: 'release'
      readonly claim: Claim
      /**
       * What a later ballot granted stays: a roll-back that comes late must not end a newer grant. A claim that waits goes on
       * waiting after a roll-back; only `EVERY_BALLOT` ends that, too.
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

/** The votes of a node, in the order of the questions, or why it has none, and its clock. */
export interface Ballots {
  readonly stampUs: number
  readonly votes: readonly (Vote | Error)[]
}

/** What a node tells by itself: `free` to a claim that may come now, the rest to a holder. */
export interface NodeNotification {
  readonly kind: 'free' | 'contended' | 'evicted' | 'revoked'
  readonly id: string
  readonly key: string
}

/** A key as one node has it; ids tell which of its holders and waiters are the same at other nodes. */
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
   * Sends now, or fails: nothing is kept for later. One of the two is called, and not at once; questions that were sent earlier
   * are answered earlier.
   */
  send(
    questions: readonly Question[],
    answered: (ballots: Ballots) => void,
    failed: (error: Error) => void,
  ): void
  /** Its clock, in microseconds. */
  timeUs(): Promise<number>
  /** Who the server is, so that one server is not counted twice; null when it does not tell. */
  identify(): Promise<string | null>
  /** Listens for what is told to `inbox`; `up` is called whenever it is heard from now on. */
  listen(
    inbox: string,
    listener: (notification: NodeNotification) => void,
    up: () => void,
    needed: () => boolean,
  ): Promise<void>
  /** What it has of each key, or why that cannot be told. */
  read(keys: readonly string[]): Promise<readonly (NodeView | Error)[]>
  /** The keys that begin with `prefix`, by pages; one may come twice. */
  scan(prefix: string): AsyncIterable<readonly string[]>
  /** Ends the holds of these claims, or only asks their holders to let go. */
  evict(key: string, ids: readonly string[], ask: boolean): Promise<void>
  close(): Promise<void>
}
