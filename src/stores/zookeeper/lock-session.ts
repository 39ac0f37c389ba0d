import type { Runtime } from '../../core/runtime.ts'
import type { Entry } from './entry.ts'
import type { Queue } from './queue.ts'
import type { SessionPool } from './session-pool.ts'
import { Snapshot } from './snapshot.ts'
import type { ZooKeeperClient } from './wire/client.ts'

/** How long a call waits for a connection; nothing is sent after that. */
const PATIENCE_MS = 1000

/** A session and the claims whose nodes live as long as it does. */
export class LockSession {
  readonly client: ZooKeeperClient
  readonly pool: SessionPool
  readonly entries = new Set<Entry>()
  private readonly snapshots = new Map<string, Snapshot>()
  /** Containers whose next change we will be told. */
  readonly keysWatched = new Set<string>()
  /** What the paths of its nodes take in the transaction that ends the session, at most. */
  bytes = 0
  usedAtMs = 0
  /** Whether a claim was ever made through it. */
  hasServed = false
  /** Whether what everything stands on was there when it connected. */
  isPrepared = false
  private readonly runtime: Runtime
  private readonly root: string
  private barrierOfTurn: Promise<unknown> | null = null
  private readonly looksOfTurn = new Map<string, Promise<Queue | null>>()

  constructor(
    client: (session: LockSession) => ZooKeeperClient,
    pool: SessionPool,
    root: string,
    runtime: Runtime,
  ) {
    this.pool = pool
    this.root = root
    this.runtime = runtime
    this.client = client(this)
  }

  get isUsable(): boolean {
    return this.client.session.isConnected
  }

  /** Null when requests can be sent now. */
  ready(): Promise<void> | null {
    return this.client.session.ready(PATIENCE_MS)
  }

  /**
   * A transaction that changes nothing. Unlike `sync`, which a leader that was replaced without knowing it may answer,
   * it needs a majority: what is read after it is as new as the moment it was asked for, and our session was alive.
   */
  barrier(): Promise<unknown> {
    if (this.barrierOfTurn === null) {
      this.barrierOfTurn = this.client.multi([{ kind: 'check', path: this.root }])
      this.runtime.defer(() => {
        this.barrierOfTurn = null
      })
    }
    return this.barrierOfTurn
  }

  /** One look at a key is enough for all that is asked in a turn. */
  oncePerTurn(keyPath: string, look: () => Promise<Queue | null>): Promise<Queue | null> {
    const known = this.looksOfTurn.get(keyPath)
    if (known !== undefined) return known
    const looking = look()
    this.looksOfTurn.set(keyPath, looking)
    this.runtime.defer(() => this.looksOfTurn.delete(keyPath))
    return looking
  }

  readonly nowMs = (): number => this.runtime.nowMs()

  /** What is known of a key's queue, from now on with the claim among those who use it. */
  snapshotFor(entry: Entry): Snapshot {
    let snapshot = this.snapshots.get(entry.keyPath)
    if (snapshot === undefined) {
      snapshot = new Snapshot(this, entry.keyPath)
      this.snapshots.set(entry.keyPath, snapshot)
    }
    snapshot.users.add(entry)
    return snapshot
  }

  snapshotOf(keyPath: string): Snapshot | undefined {
    return this.snapshots.get(keyPath)
  }

  /** The claim ends, or moves to another session. */
  leave(entry: Entry): void {
    this.entries.delete(entry)
    const snapshot = this.snapshots.get(entry.keyPath)
    if (snapshot?.users.delete(entry) && snapshot.users.size === 0) this.snapshots.delete(entry.keyPath)
  }

  /** What happened while there was no connection is looked at again, and what had to go goes now. */
  reconnected(): void {
    for (const entry of [...this.entries]) if (entry.phase === 'over') entry.fire(this.nowMs())
    for (const snapshot of this.snapshots.values()) snapshot.reconnected().catch(() => {})
  }

  expired(): void {
    for (const entry of [...this.entries]) entry.desk.lose(entry, 'expired')
  }
}
