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
import { UnsupportedError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import { attemptOne } from './acquire.ts'
import { ZooKeeperAdmin } from './admin.ts'
import { Desk } from './context.ts'
import { end, ring } from './expiry.ts'
import { attemptGroup } from './group.ts'
import { arrived } from './hold.ts'
import { ZooKeeperRecords } from './records.ts'
import { releaseOne } from './release.ts'
import { renewOne } from './renew.ts'
import type { Sessions } from './client/sessions.ts'
import { wake } from './queue.ts'
import { isWire } from './client/errors.ts'

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

/** Ephemeral sequential nodes: the ensemble numbers those who want a key, and a dead session takes its nodes with it. */
export class ZooKeeperStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  /** Requests of one turn travel together in any case; so one key that is refused fails nobody else. */
  readonly claimsPerCall = 1
  readonly desk: Desk
  private closing: Promise<void> | null = null

  /** Sessions may be shared with other stores of the process. */
  constructor(sessions: Sessions) {
    sessions.use()
    this.desk = new Desk(sessions, {
      ring: (entry, nowMs) => ring(this.desk, entry, nowMs),
      wake: (entry) => wake(this.desk, entry),
      arrived: (entry, atMs) => arrived(this.desk, entry, atMs),
    })
    this.admin = new ZooKeeperAdmin(this.desk)
    this.records = new ZooKeeperRecords(this.desk)
  }

  /** Fails early when nobody is there. */
  async open(): Promise<void> {
    try {
      await this.desk.sessions.any()
    } catch (error) {
      throw reasonOf(error)
    }
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    const sentAtMs = this.desk.runtime.nowMs()
    if (claims.every(isAlone)) return replies(claims.map((claim) => attemptOne(this.desk, claim, sentAtMs)))
    const answers: Promise<readonly ClaimReply[]>[] = []
    for (let start = 0; start < claims.length; ) {
      const { group } = claims[start] as Claim
      let next = start + 1
      if (group === null) {
        answers.push(replies([attemptOne(this.desk, claims[start] as Claim, sentAtMs)]))
      } else {
        while (claims[next]?.group === group) next++
        const members = claims.slice(start, next)
        answers.push(
          attemptGroup(this.desk, members, sentAtMs).catch((error) => members.map(() => unknown(error))),
        )
      }
      start = next
    }
    return (await Promise.all(answers)).flat()
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    const sentAtMs = this.desk.runtime.nowMs()
    return replies(claims.map((claim) => renewOne(this.desk, claim, sentAtMs)))
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    return replies(claims.map((claim) => releaseOne(this.desk, claim)))
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.desk.listen(listener)
  }

  close(): Promise<void> {
    this.closing ??= this.desk.close((entry) => entry.inTurn(() => end(this.desk, entry)))
    return this.closing
  }
}

/** A claim that fails spoils none of the others. */
function replies<A>(answers: readonly Promise<A>[]): Promise<(A | Unknown)[]> {
  return Promise.all(answers.map((answer) => answer.catch(unknown)))
}

function unknown(error: unknown): Unknown {
  return { kind: 'unknown', error: reasonOf(error) as Error }
}

function isAlone({ group }: Claim): boolean {
  return group === null
}

/** What will not pass by waiting is not an outage. */
function reasonOf(error: unknown): unknown {
  if (!isWire(error, 'NoAuth', 'AuthFailed', 'InvalidAcl', 'RequiresSasl')) return error
  return new UnsupportedError(`these credentials do not suffice: ${(error as Error).message}`, {
    cause: error,
  })
}
