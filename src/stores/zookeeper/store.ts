import type { Admin, Records, Store, StoreNotice, Traits } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import type { Claim, ClaimAnswer, ReleaseAnswer, RenewAnswer } from '../../model/index.ts'
import { ZooKeeperAdmin } from './admin.ts'
import { attemptOne } from './attempt.ts'
import { Desk } from './desk.ts'
import { expire, ring } from './expiry.ts'
import { attemptGroup } from './groups.ts'
import { Paths } from './names.ts'
import { prepare } from './prepare.ts'
import { ZooKeeperRecords } from './records.ts'
import { releaseOne } from './release.ts'
import { renewOne } from './renew.ts'
import type { EnsembleOptions, LockSession } from './sessions.ts'
import { advance } from './waiting.ts'
import { isWire } from './wire/errors.ts'
import type { Acl } from './wire/protocol.ts'

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

const EVERYTHING = 31
const ANYONE: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'world', id: 'anyone' }]
/** Whoever made a node, by the credentials of its session. */
const CREATOR: readonly Acl[] = [{ permissions: EVERYTHING, scheme: 'auth', id: '' }]

/** Ephemeral sequential nodes: the ensemble numbers those who want a key, and a dead session takes its nodes with it. */
export class ZooKeeperStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  readonly desk: Desk

  constructor(options: EnsembleOptions, chroot: string) {
    const paths = new Paths(chroot)
    const acl = options.auth === null ? ANYONE : CREATOR
    this.desk = new Desk(options, paths, acl, {
      prepare: (client) => prepare(client, paths, acl),
      connected: (session) => this.connected(session),
      expired: (session) => this.expired(session),
      ring: (entry, nowMs) => ring(this.desk, entry, nowMs),
      left: (entry, held) => advance(this.desk, entry, held),
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

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const sentAtMs = this.desk.runtime.nowMs()
    if (claims.every(isAlone)) return settled(claims.map((claim) => attemptOne(this.desk, claim, sentAtMs)))
    const answers: Promise<readonly ClaimAnswer[]>[] = []
    for (let start = 0; start < claims.length; ) {
      const { group } = claims[start] as Claim
      let next = start + 1
      if (group === null) {
        answers.push(attemptOne(this.desk, claims[start] as Claim, sentAtMs).then(only))
      } else {
        while (claims[next]?.group === group) next++
        answers.push(attemptGroup(this.desk, claims.slice(start, next), sentAtMs))
      }
      start = next
    }
    return (await settled(answers)).flat()
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewAnswer[]> {
    const sentAtMs = this.desk.runtime.nowMs()
    return settled(claims.map((claim) => renewOne(this.desk, claim, sentAtMs)))
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    return settled(claims.map((claim) => releaseOne(this.desk, claim)))
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.desk.listen(listener)
  }

  close(): Promise<void> {
    return this.desk.close()
  }

  /** What happened while there was no connection is looked at again, and what had to go goes now. */
  private connected({ entries }: LockSession): void {
    for (const entry of entries) {
      if (entry.phase === 'waiting') advance(this.desk, entry, false)
      else if (entry.phase === 'over') entry.inTurn(() => expire(this.desk, entry)).catch(() => {})
    }
  }

  private expired({ entries }: LockSession): void {
    for (const entry of [...entries]) this.desk.lose(entry, 'expired')
  }
}

/** Every answer is awaited, so that nothing is left to reject on its own. */
async function settled<T>(answers: readonly Promise<T>[]): Promise<T[]> {
  // One alone is the usual case.
  if (answers.length === 1) return answers[0]!.then(only, failed)
  const outcomes = await Promise.allSettled(answers)
  return outcomes.map((outcome) => {
    if (outcome.status === 'fulfilled') return outcome.value
    throw reasonOf(outcome.reason)
  })
}

function isAlone({ group }: Claim): boolean {
  return group === null
}

function only<T>(answer: T): T[] {
  return [answer]
}

function failed(error: unknown): never {
  throw reasonOf(error)
}

/** What will not pass by waiting is not an outage. */
function reasonOf(error: unknown): unknown {
  if (!isWire(error, 'NoAuth', 'AuthFailed', 'InvalidAcl')) return error
  return new UnsupportedError(`these credentials do not suffice: ${(error as Error).message}`, {
    cause: error,
  })
}
