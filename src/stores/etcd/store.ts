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
import { attemptBatches } from '../shared/attempt-batches.ts'
import { attempt } from './acquire.ts'
import { EtcdAdmin } from './admin.ts'
import { EtcdClient } from './client/client.ts'
import type { ClusterOptions } from './client/cluster.ts'
import { EtcdLeases } from './client/leases.ts'
import type { StoreContext } from './context.ts'
import { expire } from './expiry.ts'
import type { NotificationValue } from './format.ts'
import { attemptGroup } from './group.ts'
import { type LocalClaim, LocalClaims } from './local-claims.ts'
import { LOCKS } from './names.ts'
import { EtcdInbox, noticeOf, tellHolders } from './notifications.ts'
import { RebindQueue } from './rebind.ts'
import { EtcdRecords } from './records.ts'
import { release } from './release.ts'
import { renew } from './renew.ts'

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

/** Locks by etcd's own recipe: a key per claim, ordered by its create revision, bound to a lease. */
export class EtcdStore implements Store {
  readonly traits = TRAITS
  readonly admin: Admin
  readonly records: Records
  readonly client: EtcdClient
  private readonly context: StoreContext
  private readonly listeners = new Set<(notice: StoreNotice) => void>()

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.client = new EtcdClient(options, runtime)
    this.context = {
      client: this.client,
      runtime,
      leases: new EtcdLeases(this.client, runtime),
      claims: new LocalClaims(runtime, (local, event) => this.due(local, event)),
      inbox: new EtcdInbox(this.client, runtime, (notification) => this.receive(notification)),
      rebinds: new RebindQueue(),
      delays: new Set(),
      tell: (notice) => this.tell(notice),
    }
    this.admin = new EtcdAdmin(this.context)
    this.records = new EtcdRecords(this.context)
  }

  /** Rejects unless a majority answers. */
  async probe(): Promise<void> {
    await this.client.range({ key: LOCKS.key, countOnly: true })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    const { context } = this
    const answers = await attemptBatches(
      claims,
      (some) => attempt(context, some),
      (group) => attemptGroup(context, group).catch((error) => group.map(() => unknownAnswer(error))),
    )
    return someKnown(answers)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return renew(this.context, claims)
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    return release(this.context, claims)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  async close(): Promise<void> {
    const { claims, delays, inbox, leases } = this.context
    this.listeners.clear()
    claims.close()
    inbox.close()
    for (const timer of delays) timer.clear()
    await leases.close(delays.size > 0)
    this.client.close()
  }

  private due(local: LocalClaim, event: 'expired' | 'contended'): void {
    if (event === 'expired') expire(this.context, local)
    // Without the notification a holder learns of its waiters at its next renewal.
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
