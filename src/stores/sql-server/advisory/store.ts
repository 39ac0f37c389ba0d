import type { Runtime } from '../../../core/runtime.ts'
import type { Admin, Store, StoreNotice, Traits } from '../../../core/store.ts'
import type { Claim, ClaimAnswer, LossCause, ReleaseAnswer, RenewAnswer } from '../../../model/index.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { AdvisoryAdmin } from './admin.ts'
import { HoldExpiry } from './expiry.ts'
import { AdvisorySession } from './session.ts'
import { type SessionLock, SessionLocks } from './session-locks.ts'
import type { SessionServer } from './session-server.ts'
import { StatementBatcher } from './statement-batcher.ts'

/** Locks that a session of the database holds, without a table and only as long as the connection lasts. */
export class AdvisoryStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records = null
  private readonly timeout: StatementTimeout
  private readonly names: LockNames
  private readonly session: AdvisorySession
  private readonly locks: SessionLocks
  private readonly batcher: StatementBatcher
  private readonly expiry: HoldExpiry
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(server: SessionServer, runtime: Runtime, timeout: StatementTimeout) {
    this.traits = server.traits
    this.timeout = timeout
    this.names = new LockNames(server)
    this.locks = new SessionLocks(runtime, (lock) => this.wake(lock))
    this.session = new AdvisorySession(server, runtime, timeout, {
      heldUntilMs: () => this.locks.heldUntilMs(),
      lost: () => this.lost(),
    })
    this.batcher = new StatementBatcher((operations, ttlMs) => this.session.run(operations, ttlMs))
    this.expiry = new HoldExpiry(
      this.locks,
      runtime,
      (claim) => void this.end(claim, 'expired').catch(() => {}),
    )
    this.admin = new AdvisoryAdmin(server, this.locks, this.session, runtime, {
      evict: (claim) => this.end(claim, 'evicted'),
      revoke: ({ id, key }) => this.tell({ kind: 'revoked', id, key }),
    })
  }

  /** Connects, so that an unreachable or unsuitable server is known at once. */
  async prepare(): Promise<void> {
    await this.session.open()
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const answers = await this.batcher.add(claims, this.nameOf, this.planAttempt)
    this.expiry.expect(claims)
    return answers
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewAnswer[]> {
    return this.batcher.add(claims, this.nameOf, this.planRenew)
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    return this.batcher.add(claims, this.nameOf, this.planRelease)
  }

  setCallTimeout(timeoutMs: number): void {
    this.timeout.allow(timeoutMs)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.listeners.clear()
    this.expiry.close()
    await this.session.close()
  }

  private readonly nameOf = ({ key }: Claim): string => this.names.of(key)
  private readonly planAttempt = (name: string, claim: Claim) => this.locks.attempt(name, claim)
  private readonly planRenew = (name: string, claim: Claim) => this.locks.renew(name, claim)
  private readonly planRelease = (name: string, claim: Claim) => this.locks.release(name, claim)

  /** Ends a hold that its holder did not release. */
  private async end(claim: Claim, cause: LossCause): Promise<void> {
    await this.release([claim])
    this.tell({ kind: 'lost', id: claim.id, key: claim.key, cause })
  }

  /** The end of the session has ended all its locks. */
  private lost(): void {
    const lost = this.locks.lose()
    for (const { claim } of lost) this.tell({ kind: 'lost', id: claim.id, key: claim.key, cause: 'expired' })
  }

  /** Waiters of this process need not wait for their next poll. */
  private wake(lock: SessionLock): void {
    for (const [id, { key }] of lock.waiters) this.tell({ kind: 'lost', id, key, cause: 'expired' })
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}

const MOST_NAMES = 1000

/** A cache of the names of keys, so that a claim and its release do not hash the key twice. */
class LockNames {
  private readonly server: SessionServer
  private readonly known = new Map<string, string>()

  constructor(server: SessionServer) {
    this.server = server
  }

  of(key: string): string {
    let name = this.known.get(key)
    if (name === undefined) {
      name = this.server.nameOf(key)
      if (this.known.size >= MOST_NAMES) this.known.clear()
      this.known.set(key, name)
    }
    return name
  }
}
