/** How a claim wants to hold its key. */
export type Mode =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared' }
  | { readonly kind: 'permits'; readonly limit: number; readonly weight: number }

/** One request to hold one key. `id` is the only proof of ownership. */
export interface Claim {
  readonly key: string
  readonly id: string
  readonly mode: Mode
  readonly ttlMs: number
  /** Whether the claim joins the line when it is blocked; a claim that does not is forgotten at once. */
  readonly queue: boolean
  /** A named owner joins its own hold, from any process; without one the claim's id is the owner. */
  readonly owner: string | null
  readonly actor: string | null
  /** Shown to operators: host and pid unless the user says otherwise. */
  readonly label: string
  /** Small JSON text shown to operators. */
  readonly meta: string | null
  /** How long the key stays closed if this claim's hold ends by expiry. */
  readonly lockDelayMs: number
  /** Claims of one group are granted together or not at all, and never join a line. */
  readonly group: string | null
  /** The id of a live hold that this claim takes over in one step (adoption). */
  readonly replaces: string | null
}

/** The two readings of a store's clock. */
export interface Clock {
  /** What expiry is counted on, in whole milliseconds; monotonic where the store has such a clock. */
  readonly nowMs: number
  /** What tokens are stamped with, in whole microseconds since 1970. */
  readonly stampUs: number
}

/** Constants of a store. */
export interface Rules {
  /** Life of a grant that the claimant did not ask for in this very step, until it is renewed. */
  readonly offerMs: number
  /** How long the last token is remembered after a grant. */
  readonly keepSeqMs: number
  /** How many waiters one step admits at most. The next event of the key goes on, such as the first renewal of an offer. */
  readonly mostOffers: number
}

/** One claim id inside a hold. */
export interface Member {
  readonly id: string
  readonly expiresAtMs: number
  readonly sinceMs: number
  readonly label: string
  readonly actor: string | null
  readonly meta: string | null
  readonly lockDelayMs: number
  readonly inbox: string | null
}

/** A set of claim ids of one owner that share one token. */
export interface Hold {
  readonly owner: string | null
  readonly mode: Mode
  readonly seq: number
  readonly members: readonly Member[]
}

/** A claim in the line. */
export interface Waiter {
  readonly claim: Claim
  readonly inbox: string | null
  readonly joinedAtMs: number
  readonly expiresAtMs: number
}

/** Everything a store remembers about one key. Plain data: it survives JSON. */
export interface KeyState {
  readonly holds: readonly Hold[]
  readonly line: readonly Waiter[]
  /** The last sequence number that was granted, 0 if none is remembered. */
  readonly seq: number
  readonly seqKeptUntilMs: number
  /** Nobody is admitted before this time (lock delay after an expiry). */
  readonly closedUntilMs: number
}

/** What may happen to a key. Leaving the line is a release. */
export type Event =
  | { readonly kind: 'claim'; readonly claim: Claim; readonly inbox: string | null }
  | { readonly kind: 'renew'; readonly id: string; readonly ttlMs: number }
  | { readonly kind: 'release'; readonly id: string }
  | { readonly kind: 'evict'; readonly token: bigint | null }
  | { readonly kind: 'revoke'; readonly token: bigint | null }
  | { readonly kind: 'tick' }

export interface Granted {
  readonly kind: 'granted'
  readonly token: bigint | null
  /** How many tokens directly above `token` belong to this grant, for local hand-over. */
  readonly spare: number
  /** Whether others wait in the store's line. */
  readonly contended: boolean
}

export interface Blocked {
  readonly kind: 'blocked'
  /** Place in the line, 1 is next; 0 when the claim is not in the line. */
  readonly position: number
  /** When the answer may change although nobody tells; null when only a push can change it. */
  readonly retryAfterMs: number | null
  /** The store's expiry clock when it answered: what a pushed grant is measured against. */
  readonly storeTimeMs: number
  /** One of those who stand in the way. */
  readonly holder: {
    readonly label: string
    /** Null for a holder that others than Holdfast let in. */
    readonly heldMs: number | null
  } | null
}

/** The claim can never be granted as it stands. */
export interface Refused {
  readonly kind: 'refused'
  /**
   * `group`: the store cannot grant these keys in one step, but one by one. `format`: the key is kept in a format that this
   * version does not know.
   */
  readonly reason: 'mode' | 'limit' | 'upgrade' | 'absent' | 'group' | 'format'
  readonly message: string
}

export type ClaimAnswer = Granted | Blocked | Refused
export type RenewAnswer =
  /** The claim holds its key. For a waiter it is news: an offer was made whose push may have been lost, so it attempts again. */
  | { readonly kind: 'renewed'; readonly contended: boolean }
  /** The claim keeps its position in the queue; 0 where the store does not count positions. */
  | { readonly kind: 'waiting'; readonly position: number; readonly storeTimeMs: number }
  | { readonly kind: 'lost' }
export type ReleaseAnswer = { readonly kind: 'released' } | { readonly kind: 'absent' }
export interface EvictAnswer {
  readonly kind: 'evicted' | 'absent'
  /** Labels of the holders that were evicted. */
  readonly labels: readonly string[]
}

/** Why a hold ended without its holder's doing. */
export type LossCause = 'expired' | 'evicted' | 'adopted'

/** What a store tells a claimant by itself: hints, never the only way to know. */
export type Notice =
  | {
      readonly kind: 'granted'
      readonly id: string
      readonly token: bigint | null
      readonly spare: number
      readonly contended: boolean
      /** The store's expiry clock at the grant. */
      readonly storeTimeMs: number
      /** The grant ends this long after `storeTimeMs` unless it is renewed. */
      readonly lifeMs: number
    }
  | { readonly kind: 'lost'; readonly id: string; readonly cause: LossCause }
  | { readonly kind: 'contended'; readonly id: string }
  | { readonly kind: 'revoked'; readonly id: string }
  /** The claim still waits, and an attempt may now have another answer. */
  | { readonly kind: 'retry'; readonly id: string }

/** A notice and the inbox of the process it is for. */
export interface Letter {
  readonly inbox: string | null
  readonly notice: Notice
}

export type Answer<E extends Event> = E extends { kind: 'claim' }
  ? ClaimAnswer
  : E extends { kind: 'renew' }
    ? RenewAnswer
    : E extends { kind: 'release' }
      ? ReleaseAnswer
      : E extends { kind: 'evict' | 'revoke' }
        ? EvictAnswer
        : null

export interface Outcome<A> {
  readonly state: KeyState
  readonly answer: A
  readonly letters: readonly Letter[]
}
