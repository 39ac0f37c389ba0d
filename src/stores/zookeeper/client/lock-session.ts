import type { Runtime } from '../../../core/runtime.ts'
import type { LocalClaim } from '../local-claims.ts'
import type { NodeQueue } from '../node-queue.ts'
import { QueueSnapshot } from '../snapshot.ts'
import type { ZooKeeperClient } from './client.ts'
import type { SessionPool } from './session-pool.ts'

/** A call waits this long for a connection; after that it sends nothing. */
const PATIENCE_MS = 1000

/** A session, and the claims whose nodes end with it. */
export class LockSession {
  readonly client: ZooKeeperClient
  readonly pool: SessionPool
  readonly claims = new Set<LocalClaim>()
  private readonly snapshots = new Map<string, QueueSnapshot>()
  /** Containers with a watch on their data. */
  readonly keysWatched = new Set<string>()
  /** The most bytes of its nodes' paths in the transaction that ends the session. */
  bytes = 0
  usedAtMs = 0
  /** True if a claim was ever made through it. */
  hasServed = false
  /** True if the root nodes existed when it connected. */
  isPrepared = false
  private readonly runtime: Runtime
  private readonly root: string
  private barrierOfTurn: Promise<unknown> | null = null
  private readonly readsOfTurn = new Map<string, Promise<NodeQueue | null>>()

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
   * A transaction that changes nothing. Unlike `sync`, which a deposed leader may answer, it needs a majority: it proves that
   * our session is alive, and later reads are at least as new as this request.
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

  /** All calls of one turn share one read of a key. */
  oncePerTurn(keyPath: string, read: () => Promise<NodeQueue | null>): Promise<NodeQueue | null> {
    const known = this.readsOfTurn.get(keyPath)
    if (known !== undefined) return known
    const reading = read()
    this.readsOfTurn.set(keyPath, reading)
    this.runtime.defer(() => this.readsOfTurn.delete(keyPath))
    return reading
  }

  readonly nowMs = (): number => this.runtime.nowMs()

  /** The snapshot of a claim's key, with the claim among its users. */
  snapshotFor(local: LocalClaim): QueueSnapshot {
    let snapshot = this.snapshots.get(local.keyPath)
    if (snapshot === undefined) {
      snapshot = new QueueSnapshot(this, local.keyPath)
      this.snapshots.set(local.keyPath, snapshot)
    }
    snapshot.users.add(local)
    return snapshot
  }

  snapshotOf(keyPath: string): QueueSnapshot | undefined {
    return this.snapshots.get(keyPath)
  }

  /** The claim ends, or moves to another session. */
  leave(local: LocalClaim): void {
    this.claims.delete(local)
    const snapshot = this.snapshots.get(local.keyPath)
    if (snapshot?.users.delete(local) && snapshot.users.size === 0) this.snapshots.delete(local.keyPath)
  }

  /** Catches up on changes during the disconnection, and deletes the nodes of expired claims. */
  reconnected(): void {
    for (const local of [...this.claims]) if (local.phase === 'over') local.fire(this.nowMs())
    for (const snapshot of this.snapshots.values()) snapshot.reconnected().catch(() => {})
  }

  expired(): void {
    for (const local of [...this.claims]) local.lose('expired')
  }
}
