import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
  Unknown,
} from '../../core/store.ts'
import { unknownAnswer } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import { attemptBatches } from '../shared/attempt-batches.ts'
import { attemptOne } from './acquire.ts'
import { ZooKeeperAdmin } from './admin.ts'
import { isWire } from './client/errors.ts'
import type { SessionPools } from './client/sessions.ts'
import { createContext, type StoreContext } from './context.ts'
import { due, endClaim } from './expiry.ts'
import { attemptGroup } from './group.ts'
import { arrived } from './notifications.ts'
import { wake } from './queue.ts'
import { ZooKeeperRecords } from './records.ts'
import { releaseOne } from './release.ts'
import { renewOne } from './renew.ts'

const TRAITS: Traits = {
  name: 'zookeeper',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: false,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: false,
  scope: 'every process that reaches the same ensemble of ZooKeeper',
  failover:
    'a new leader or a restart of all servers ends nothing and prolongs what a dead process left behind; a dead process costs its session, which is its longest ttl of that class and some ticks more; clocks of the servers do not count, except for the ttl of records',
}

/** Locks by ephemeral sequential nodes: the ensemble numbers the claims of a key, and the nodes end with their session. */
export class ZooKeeperStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  /** The client batches the requests of a turn anyway, and a refused key fails no other claim. */
  readonly claimsPerCall = 1
  readonly context: StoreContext
  private closing: Promise<void> | null = null

  /** Other stores of the process may share the sessions. */
  constructor(sessions: SessionPools) {
    sessions.use()
    this.context = createContext(sessions, { due, wake, arrived })
    this.admin = new ZooKeeperAdmin(this.context)
    this.records = new ZooKeeperRecords(this.context)
  }

  /** Rejects if the ensemble cannot be reached. */
  async open(): Promise<void> {
    try {
      await this.context.sessions.any()
    } catch (error) {
      throw reasonOf(error)
    }
  }

  attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    const { context } = this
    const sentAtMs = context.runtime.nowMs()
    return attemptBatches(
      claims,
      (some) => replies(some.map((claim) => attemptOne(context, claim, sentAtMs))),
      (group) => attemptGroup(context, group, sentAtMs).catch((error) => group.map(() => failed(error))),
    )
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    const sentAtMs = this.context.runtime.nowMs()
    return replies(claims.map((claim) => renewOne(this.context, claim, sentAtMs)))
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    return replies(claims.map((claim) => releaseOne(this.context, claim)))
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    const { listeners } = this.context
    const own = (notice: StoreNotice) => listener(notice)
    listeners.add(own)
    return () => listeners.delete(own)
  }

  close(): Promise<void> {
    this.closing ??= this.closeNow()
    return this.closing
  }

  /** Ends all claims, except for those that keep a key closed. */
  private async closeNow(): Promise<void> {
    const { claims, deadlines, listeners, sessions } = this.context
    listeners.clear()
    const ending = [...claims.values()].filter(({ phase }) => phase !== 'closed')
    await sessions.close(() => Promise.allSettled(ending.map((local) => local.inTurn(() => endClaim(local)))))
    // In shared sessions the timers go on, for nodes that must still be deleted.
    if (sessions.isOver) deadlines.clear()
  }
}

/** A failed claim does not fail the others of its call. */
function replies<A>(answers: readonly Promise<A>[]): Promise<(A | Unknown)[]> {
  return Promise.all(answers.map((answer) => answer.catch(failed)))
}

function failed(error: unknown): Unknown {
  return unknownAnswer(reasonOf(error) as Error)
}

/** Refused credentials are no outage: waiting does not help. */
function reasonOf(error: unknown): unknown {
  if (!isWire(error, 'NoAuth', 'AuthFailed', 'InvalidAcl', 'RequiresSasl')) return error
  return new UnsupportedError(`these credentials do not suffice: ${(error as Error).message}`, {
    cause: error,
  })
}
