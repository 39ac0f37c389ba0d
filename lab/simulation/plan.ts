/** The messages of a link; targeted faults name one of these. */
export type Parcel = 'attempt' | 'renew' | 'release' | 'admin' | 'reply' | 'notice' | 'write'
export type Direction = 'up' | 'down' | 'both'
/** The calls of a client about claims. */
export type Call = 'attempt' | 'renew' | 'release'

/** How the network behaves by itself. Rates are per mille of the messages. */
export interface LinkFaults {
  readonly lossPerMille: number
  readonly twicePerMille: number
  readonly tailPerMille: number
  /** The longest delay of the tail; what is not in the tail takes 0.3 to 6 ms. */
  readonly tailMs: number
}

export const CALM: LinkFaults = { lossPerMille: 0, twicePerMille: 0, tailPerMille: 0, tailMs: 0 }

/** A fault at `atMs`. `client` is an index into the plan's clients, `node` one into its nodes: all when left out. */
export type Fault = { readonly atMs: number; readonly node?: number } & (
  | { readonly kind: 'pause'; readonly client: number; readonly forMs: number }
  /** The machine of a client is suspended: its monotonic clock stands still, its wall clock goes on. */
  | { readonly kind: 'sleep'; readonly client: number; readonly forMs: number }
  | { readonly kind: 'kill'; readonly client: number; readonly restartAfterMs: number }
  | { readonly kind: 'cut'; readonly client: number; readonly direction: Direction; readonly forMs: number }
  | { readonly kind: 'clog'; readonly client: number; readonly direction: Direction; readonly forMs: number }
  /** The next parcel of that kind is lost, held back, or comes a second time. */
  | { readonly kind: 'lose'; readonly client: number; readonly parcel: Parcel }
  | { readonly kind: 'hold'; readonly client: number; readonly parcel: Parcel; readonly forMs: number }
  | { readonly kind: 'again'; readonly client: number; readonly parcel: Parcel; readonly afterMs: number }
  /** The next call of that kind fails at once, as when a connection is reset, and takes effect later all the same. */
  | { readonly kind: 'reset'; readonly client: number; readonly parcel: Call; readonly forMs: number }
  | { readonly kind: 'storm'; readonly linkFaults: LinkFaults; readonly forMs: number }
  /** The store is gone for a while; with `loss` it comes back empty. */
  | { readonly kind: 'crash'; readonly forMs: number; readonly loss: boolean }
  /** The store stands still; requests wait. */
  | { readonly kind: 'freeze'; readonly forMs: number }
  /** The store refuses claims and takes renewals and releases, as a server without memory does. */
  | { readonly kind: 'full'; readonly forMs: number }
  /** Of the next call with several claims, the outcome of one stays unknown; with `done` it took effect all the same. */
  | { readonly kind: 'doubt'; readonly call: Call; readonly member: number; readonly done: boolean }
  /** The store's wall clock, which stamps tokens, jumps. */
  | { readonly kind: 'jump'; readonly byMs: number }
  /** A client's wall clock jumps. */
  | { readonly kind: 'clientJump'; readonly client: number; readonly byMs: number }
)

/** How a lock is asked for. */
export type Ask =
  | { readonly kind: 'mutex' }
  | { readonly kind: 'read' }
  | { readonly kind: 'write' }
  | { readonly kind: 'permits'; readonly limit: number; readonly weight: number }

/** Deeds of user code with a lease besides holding it. */
export type Twist =
  | { readonly kind: 'none' }
  /** Asks for a new ttl after some time. */
  | { readonly kind: 'extend'; readonly afterMs: number; readonly ttlMs: number }
  | { readonly kind: 'downgrade'; readonly afterMs: number }
  /** Hands the lease to another client. */
  | { readonly kind: 'give'; readonly afterMs: number; readonly to: number }
  /** Takes the same key again inside. */
  | { readonly kind: 'reenter' }
  | { readonly kind: 'throw' }
  /** Releases twice, the second time this long after the first. */
  | { readonly kind: 'releaseTwice'; readonly afterMs: number }

export interface Take {
  readonly kind: 'take'
  readonly thinkMs: number
  readonly key: string
  readonly ask: Ask
  readonly way: 'using' | 'acquire' | 'try'
  readonly ttlMs: number
  /** Infinity does not survive JSON: null stands for it. */
  readonly waitMs: number | null
  readonly holdMs: number
  readonly renew: boolean
  /** Renewal stops after this long. */
  readonly maxHoldMs: number | null
  /** Asks again and again instead of joining the line. */
  readonly spinMs: number | null
  /** Does not wait for the answer to the release. */
  readonly background: boolean
  readonly owner: string | null
  /** The caller cancels its wait after this long. */
  readonly cancelAfterMs: number | null
  /** Stops its work when the signal fires; else it never reads the signal. */
  readonly obeys: boolean
  /** Writes to the fenced register while it holds. */
  readonly writes: number
  readonly twist: Twist
}

export type Step =
  | Take
  /** All keys or none. */
  | {
      readonly kind: 'takeAll'
      readonly thinkMs: number
      readonly keys: readonly string[]
      readonly waitMs: number
      readonly holdMs: number
    }
  | { readonly kind: 'evict'; readonly thinkMs: number; readonly key: string }
  /** Closes the client's locks and opens new ones. */
  | { readonly kind: 'reopen'; readonly thinkMs: number }

export interface ClientPlan {
  readonly name: string
  readonly skewPpm: number
  readonly ttlMs: number
  readonly handover: boolean
  readonly lockDelayMs: number
  /** Each fiber does its steps one after the other. */
  readonly fibers: readonly (readonly Step[])[]
}

/** Everything a run needs to know. The same plan on the same sources runs the same way. */
export interface Plan {
  readonly seed: number
  readonly healAtMs: number
  readonly endAtMs: number
  /** No claim of the plan has a longer ttl. */
  readonly longestTtlMs: number
  readonly callTimeoutMs: number
  /** How long after the healing the last waiter must be served. */
  readonly boundMs: number
  readonly server: ServerPlan
  /** The servers of a quorum; without them one server is the store. */
  readonly nodes?: readonly NodePlan[]
  readonly linkFaults: LinkFaults
  readonly clients: readonly ClientPlan[]
  readonly faults: readonly Fault[]
}

export interface ServerPlan {
  readonly skewPpm: number
  /** True if the store notices an expiry by itself; otherwise when somebody asks about the key. */
  readonly ticks: boolean
  readonly offerMs: number
  readonly keepSeqMs: number
}

/** One server of a quorum. */
export interface NodePlan {
  readonly skewPpm: number
  /** How far its wall clock is from that of the others. */
  readonly aheadMs: number
}
