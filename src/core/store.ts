import type {
  Claim,
  ClaimAnswer,
  EvictAnswer,
  KeyView,
  Mode,
  Notice,
  RecordCondition,
  RecordState,
  ReleaseAnswer,
  RenewAnswer,
  TakeAnswer,
  Trade,
  WriteAnswer,
} from '../model/index.ts'
import type { Fact, InspectOptions, Remains } from './facts.ts'

/** An answer or the promise of one. A store in this process answers without a turn of the event loop. */
export type Soon<T> = T | Promise<T>

/** The unknown outcome of one claim of a batch whose other outcomes are known. */
export interface Unknown {
  readonly kind: 'unknown'
  readonly error: Error
}

export type ClaimReply = ClaimAnswer | Unknown
export type RenewReply = RenewAnswer | Unknown
export type ReleaseReply = ReleaseAnswer | Unknown

/** The answer to each claim of a part of a call that failed. */
export function unknownAnswer(error: Error): Unknown {
  return { kind: 'unknown', error }
}

/** Throws if no claim has an answer: the call failed as a whole, which is one failure and not one for each claim. */
export function someKnown<A extends { readonly kind: string }>(
  answers: readonly (A | Unknown)[],
): readonly (A | Unknown)[] {
  const [first] = answers
  if (isUnknown(first) && answers.every(isUnknown)) throw first.error
  return answers
}

function isUnknown(answer: { readonly kind: string } | undefined): answer is Unknown {
  return answer?.kind === 'unknown'
}

/** A message of a store: a notice with its key, or a warning. */
export type StoreNotice = (Notice & { readonly key: string }) | StoreWarning

/** A setting of the server that its operator should change. It names no claim. */
export interface StoreWarning {
  readonly kind: 'warning'
  readonly id: ''
  readonly key: ''
  /** A stable code. */
  readonly code: string
  readonly message: string
  /** The command that corrects it, if there is one. */
  readonly fix?: string
}

/** The truth about a store; `docs/guarantees.md` is generated from it. */
export interface Traits {
  /** Short name, as in `memory` or `redis`. */
  readonly name: string
  readonly modes: readonly Mode['kind'][]
  /** `fifo`: the store grants claims in the order in which they joined its queue. `race`: the first attempt after a release wins. */
  readonly order: 'fifo' | 'race'
  /** `strict`: tokens rise whatever happens. `until data loss`: as long as the store keeps its data. */
  readonly fencing: 'strict' | 'until data loss' | 'none'
  /** The server rounds times to live up to a multiple of this. */
  readonly ttlStepMs: number
  /** A lease can be handed to another process. */
  readonly adoption: boolean
  /** Claims of one named owner join one hold. */
  readonly owners: boolean
  /** A key that was lost by expiry can be kept closed for a while. */
  readonly lockDelay: boolean
  /**
   * Several keys can be granted in one step. `hash tag`: only keys with the same tag, as in `{42}:stock`; any other
   * group is refused.
   */
  readonly groups: boolean | 'hash tag'
  readonly records: boolean
  /** `push`: the store notifies a waiter. `poll`: the waiter looks again by itself. */
  readonly wakeUp: 'push' | 'poll'
  /** Collecting the claims of a tick gains nothing: the store answers in the same turn, or collects them itself. */
  readonly immediate: boolean
  /**
   * A lock belongs to the connection that took it: it ends with the connection, cannot be evicted, and other processes only
   * see which connection holds it. Left out by stores that keep claims themselves.
   */
  readonly session?: true
  /** The processes that can share a lock through this store, one sentence. */
  readonly scope: string
  /** The effect of a failover, a restart or a clock jump on the promise, one sentence. */
  readonly failover: string
}

/** One of several writes that travel together. */
export interface RecordWrite {
  readonly key: string
  readonly value: string
  readonly ttlMs: number | null
  readonly condition: Exclude<RecordCondition, { kind: 'held' }>
}

/** Small values beside the locks, each with an optional time to live. */
export interface Records {
  read(key: string): Soon<RecordState | null>
  write(key: string, value: string, ttlMs: number | null, condition: RecordCondition): Soon<WriteAnswer>
  remove(key: string, condition: RecordCondition): Soon<boolean>
  take(key: string, count: number): Soon<TakeAnswer>
  /** Several records in one call, each independent and of a different key. Left out where that is no cheaper. */
  readAll?(keys: readonly string[]): Soon<readonly (RecordState | null)[]>
  writeAll?(writes: readonly RecordWrite[]): Soon<readonly WriteAnswer[]>
  /** An accelerator for `inventory`; without it, the recipe uses the records above. */
  readonly inventory?: Trade
}

/** Locks inside a transaction of the caller, beside the data that they protect. */
export interface Transactions {
  /**
   * Takes the key until `tx`, a transaction that the caller has begun with its client library, ends. If another transaction
   * has the key, the database may wait `insideMs` for it; a deadlock of such waits is a `ConflictError`.
   */
  take(
    tx: object,
    key: string,
    insideMs: number,
  ): Soon<
    | { readonly kind: 'granted'; readonly seq: number }
    | { readonly kind: 'blocked'; readonly holder: string | null; readonly heldMs: number | null }
  >
}

/** For operators; never on the locking path. */
export interface Admin {
  read(key: string): Soon<KeyView>
  /**
   * Keys in use whose name begins with `prefix`. `onPage` is called after each page without a match: every page has the
   * deadline of a call.
   */
  list(prefix: string, onPage?: () => void): AsyncIterable<KeyView>
  /** Ends the hold with that token, or every hold; `ask` only asks the holder to release. */
  evict(key: string, token: bigint | null, ask: boolean): Soon<EvictAnswer>
  /** Problems of the server, and leftovers in it; the locks themselves are for `list`. */
  inspect?(options: InspectOptions, onPage?: () => void): AsyncIterable<Fact>
  /**
   * Removes leftovers that `inspect` found, each only if it has not changed and, if it is foreign, has not been used for
   * `olderMs`. Callers pass a few at a time. The answer says which were removed.
   */
  reap?(remains: readonly Remains[], olderMs: number): Soon<readonly boolean[]>
}

/**
 * Remembers claims. A returned value is knowledge; a thrown error means that the outcome is unknown, and so does the answer
 * `unknown` for one claim: a claim that cannot be served never spoils the others of its call.
 * Everything a store keeps can be found from a claim's `key` and `id`, and every call may be repeated:
 * a resent claim with the same id is the same claim.
 */
export interface Store {
  readonly traits: Traits
  attempt(claims: readonly Claim[]): Soon<readonly ClaimReply[]>
  /** Renews holds and queue positions; never creates either. */
  renew(claims: readonly Claim[]): Soon<readonly RenewReply[]>
  /** Releases a hold or a queue position. */
  release(claims: readonly Claim[]): Soon<readonly ReleaseReply[]>
  /**
   * Names the part of the store that a key is in, where parts can fail one by one. Claims of different parts travel in
   * separate calls, so that a part which does not answer delays no other.
   */
  partOf?(key: string): string
  /**
   * The best number of claims for one call. More claims go as several calls at once, so that this process works on the first
   * answers while the store works on the next claims.
   */
  readonly claimsPerCall?: number
  /** Messages that the store sends by itself. Hints: a notice may be lost, late or doubled. Returns a function that stops them. */
  notices(listener: (notice: StoreNotice) => void): () => void
  /** Every `Locks` over the store sets its call timeout here, for stores that replace silent connections. */
  setCallTimeout?(timeoutMs: number): void
  readonly admin: Admin
  readonly records: Records | null
  /** Left out by stores that keep their locks apart from the caller's data. */
  readonly transactions?: Transactions
  close(): Soon<void>
}
