import type { Runtime } from '../../core/runtime.ts'
import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
  Traits,
} from '../../core/store.ts'
import { someKnown, unknownAnswer } from '../../core/store.ts'
import type { Claim } from '../../model/index.ts'
import { Acquire } from './acquire.ts'
import { EtcdAdmin } from './admin.ts'
import { EtcdClient } from './client/client.ts'
import type { ClusterOptions } from './client/cluster.ts'
import { tellHolders } from './contention.ts'
import type { StoreContext } from './context.ts'
import { Expiry } from './expiry.ts'
import { Group } from './group.ts'
import { Inbox, noticeOf } from './inbox.ts'
import { Leases } from './leases.ts'
import { type LocalClaim, LocalClaims } from './local-claims.ts'
import { Moves, sendMoves } from './moves.ts'
import { LOCKS } from './names.ts'
import { Queue } from './queue.ts'
import { EtcdRecords } from './records.ts'
import { release } from './release.ts'
import { Renew } from './renew.ts'
import type { NotificationValue } from './value.ts'

const TRAITS: Traits = {
  name: 'etcd',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1000,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: false,
  scope: 'every process that reaches the same etcd cluster',
  failover:
    'holds survive the loss of a minority of the members, and a change of the leader can only prolong them; without a majority nothing is granted or renewed, and holds end by their own deadline; clocks may jump',
}

/** Locks by the native recipe: a key per claim, ordered by its creation, bound to a lease. */
export class EtcdStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  readonly client: EtcdClient
  private readonly context: StoreContext
  private readonly acquire: Acquire
  private readonly group: Group
  private readonly renewals: Renew
  private readonly expiry: Expiry
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.client = new EtcdClient(options, runtime)
    const context: StoreContext = {
      client: this.client,
      runtime,
      leases: new Leases(this.client, runtime),
      claims: new LocalClaims(runtime, (local, what) => this.due(local, what)),
      inbox: new Inbox(this.client, runtime, (notification) => this.receive(notification)),
      moves: new Moves(runtime, (moves) => sendMoves(context, moves)),
      tell: (notice) => this.tell(notice),
    }
    this.context = context
    const queue = new Queue(context)
    this.acquire = new Acquire(context, queue)
    this.group = new Group(context)
    this.renewals = new Renew(context, queue, this.acquire)
    this.expiry = new Expiry(context)
    this.admin = new EtcdAdmin(context)
    this.records = new EtcdRecords(context)
  }

  /** Rejects unless a majority answers. */
  async probe(): Promise<void> {
    await this.client.range({ key: LOCKS.key, countOnly: true })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    if (claims.every(({ group }) => group === null)) return someKnown(await this.acquire.attempt(claims))
    const alone = claims.filter(({ group }) => group === null)
    const groups = new Map<string, Claim[]>()
    for (const claim of claims) {
      if (claim.group === null) continue
      const together = groups.get(claim.group)
      if (together === undefined) groups.set(claim.group, [claim])
      else together.push(claim)
    }
    const answers = new Map<Claim, ClaimReply>()
    const note = (some: readonly Claim[], known: readonly ClaimReply[]): void => {
      for (const [index, answer] of known.entries()) answers.set(some[index] as Claim, answer)
    }
    const parts = [...groups.values()].map(async (group) => {
      const failed = (error: Error) => group.map(() => unknownAnswer(error))
      note(group, await this.group.attempt(group).catch(failed))
    })
    note(alone, await this.acquire.attempt(alone))
    await Promise.all(parts)
    return someKnown(claims.map((claim) => answers.get(claim) as ClaimReply))
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return this.renewals.renew(claims)
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    return claims.length === 0 ? [] : release(this.context, claims)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    const { claims, inbox, leases } = this.context
    this.listeners.clear()
    claims.close()
    inbox.close()
    this.expiry.close()
    await leases.close(this.expiry.delaying)
    this.client.close()
  }

  private due(local: LocalClaim, what: 'expired' | 'contended'): void {
    if (what === 'expired') this.expiry.expire(local)
    // A holder that is not told hands over for longer than it should, and learns it when it renews.
    else tellHolders(this.context, local).catch(ignore)
  }

  private receive(notification: NotificationValue): void {
    const { claims } = this.context
    const local = claims.get(notification)
    const { kind } = notification
    if (local !== undefined && (kind === 'evicted' || kind === 'adopted')) claims.drop(local)
    this.tell(noticeOf(notification))
  }

  private tell(notice: StoreNotice): void {
    for (const listener of this.listeners) listener(notice)
  }
}

function ignore(): void {}
