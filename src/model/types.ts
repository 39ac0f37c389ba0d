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
  /** The claim joins the queue when it is blocked; otherwise it is forgotten at once. */
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
  /** Claims of one group are granted together or not at all, and never join a queue. */
  readonly group: string | null
  /** The id of a live hold that this claim takes over in one step (adoption). */
  readonly replaces: string | null
}

/** The two readings of a store's clock. */
export interface Clock {
  /** For expiry, in whole milliseconds; monotonic where the store has such a clock. */
  readonly nowMs: number
  /** For tokens, in whole microseconds since 1970. */
  readonly stampUs: number
}

/** Constants of a store. */
export interface Rules {
  /** Life of an offer, a grant that its claim did not ask for in this very step, until it is renewed. */
  readonly offerMs: number
  /** How long the last token is remembered after a grant. */
  readonly keepSeqMs: number
  /** The most waiters that one step admits. The key's next event goes on, for example the first renewal of an offer. */
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

/** A claim in the queue. */
export interface QueuedClaim {
  readonly claim: Claim
  readonly inbox: string | null
  readonly joinedAtMs: number
  readonly expiresAtMs: number
}

/** Everything a store remembers about one key. Plain data: it survives JSON. */
export interface KeyState {
  readonly holds: readonly Hold[]
  readonly queue: readonly QueuedClaim[]
  /** The last sequence number that was granted, 0 if none is remembered. */
  readonly seq: number
  readonly seqKeptUntilMs: number
  /** Nobody is admitted before this time (lock delay after an expiry). */
  readonly closedUntilMs: number
}

/** An event on a key. To leave the queue is a release. */
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
  /** How many tokens directly above `token` belong to this grant, for local handover. */
  readonly spare: number
  /** Others wait in the store's queue. */
  readonly contended: boolean
}

export interface Blocked {
  readonly kind: 'blocked'
  /** Position in the queue, 1 is next; 0 when the claim is not in the queue. */
  readonly position: number
  /** When the answer may change without a notification; null when only a notification can change it. */
  readonly retryAfterMs: number | null
  /** The store's expiry clock when it answered: a pushed grant is compared with it. */
  readonly storeTimeMs: number
  /** One of the holders that block the claim. */
  readonly holder: {
    readonly label: string
    /** Null for a holder of another program. */
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
  /** The claim holds its key. To a waiter it says that the notification of its offer may be lost: it attempts again. */
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

/** Why a hold ended that its holder did not release. */
export type LossCause = 'expired' | 'evicted' | 'adopted'

/** A message that a store sends by itself about a claim: a hint, never the only way to know. */
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

/** A notice, and the inbox of the process that it is for. */
export interface Notification {
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

export interface StepOutcome<A> {
  readonly state: KeyState
  readonly answer: A
  readonly notifications: readonly Notification[]
}
