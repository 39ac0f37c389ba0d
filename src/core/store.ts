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

/** An answer that may be there at once. A store in this process answers without a turn of the event loop. */
export type Soon<T> = T | Promise<T>

/** The outcome of one member of a batch is unknown, although those of the others are known. */
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

/** Something about the server that its operator should change. It is about no claim, so it names none. */
export interface StoreWarning {
  readonly kind: 'warning'
  readonly id: ''
  readonly key: ''
  /** Stable, for whoever wants to tell warnings apart. */
  readonly code: string
  readonly message: string
  /** The command that changes it, where there is one. */
  readonly fix?: string
}

/** The truth about a store; `docs/guarantees.md` is generated from it. */
export interface Traits {
  /** Short name, as in `memory` or `redis`. */
  readonly name: string
  readonly modes: readonly Mode['kind'][]
  /** `fifo`: the store's line is served in the order it was joined. `race`: whoever asks first after a release. */
  readonly order: 'fifo' | 'race'
  /** `strict`: tokens rise whatever happens. `until data loss`: as long as the store keeps its data. */
  readonly fencing: 'strict' | 'until data loss' | 'none'
  /** Times to live are rounded up to a multiple of this by the server. */
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
  /** `push`: a waiter is told. `poll`: it looks again by itself. */
  readonly wakeUp: 'push' | 'poll'
  /** Nothing is gained by collecting the claims of a tick: the store answers in the same turn, or collects them itself. */
  readonly immediate: boolean
  /**
   * A lock belongs to the connection that took it: it ends with that, nobody else can end it, and others see no more of its
   * holder than the connection. Left out by stores that remember claims by themselves.
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
  /** Several records in one call, each for itself and of a key of its own. Left out where that is no cheaper. */
  readAll?(keys: readonly string[]): Soon<readonly (RecordState | null)[]>
  writeAll?(writes: readonly RecordWrite[]): Soon<readonly WriteAnswer[]>
  /** An accelerator for `inventory`, which is made of the records above where a store has nothing better for it. */
  readonly inventory?: Trade
}

/** Locks that live in a transaction of the caller, beside the data that they protect. */
export interface Transactions {
  /**
   * Takes the key for as long as `tx`, which has begun a transaction of the caller's client library, goes on. For another
   * transaction that has it, the database itself may be let wait for so long; a circle of such waits is a `ConflictError`.
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
   * Keys in use whose name begins with `prefix`. `onPage` is called between the parts of a long way to the next of them: each part has
   * the deadline of a call for itself.
   */
  list(prefix: string, onPage?: () => void): AsyncIterable<KeyView>
  /** Ends the hold with that token, or every hold; `ask` only tells the holder to let go. */
  evict(key: string, token: bigint | null, ask: boolean): Soon<EvictAnswer>
  /** Problems of the server, and leftovers in it; the locks themselves are for `list`. */
  inspect?(options: InspectOptions, onPage?: () => void): AsyncIterable<Fact>
  /**
   * Removes what `inspect` told of, each only if it is still as it was told and, if it is foreign, has not been used for
   * `olderMs`. A few at a time are asked for. Says which of them it removed.
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
  /** Holds and places in the line; never creates either. */
  renew(claims: readonly Claim[]): Soon<readonly RenewReply[]>
  /** A hold or a place in the line. */
  release(claims: readonly Claim[]): Soon<readonly ReleaseReply[]>
  /**
   * Names the part of the store that a key is in, where parts can fail one by one. Claims of different parts travel in
   * calls of their own, so that a part which does not answer holds up nobody else.
   */
  partOf?(key: string): string
  /**
   * How many claims travel best in one call. More of them go as several calls at once, each answered by itself, so that this
   * process works on the first answers while the store works on the next claims.
   */
  readonly claimsPerCall?: number
  /** Messages that the store sends by itself. Hints: a notice may be lost, late or doubled. Returns a function that stops them. */
  notices(listener: (notice: StoreNotice) => void): () => void
  /** Told how long a call may take by every `Locks` that uses the store, for stores that give up connections which do not answer. */
  setCallTimeout?(timeoutMs: number): void
  readonly admin: Admin
  readonly records: Records | null
  /** Left out by stores that keep their locks apart from the caller's data. */
  readonly transactions?: Transactions
  close(): Soon<void>
}
