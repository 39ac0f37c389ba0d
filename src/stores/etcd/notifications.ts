import type { Runtime, Timer } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'

import type { EtcdClient } from './client/client.ts'
import { inboxRange, notificationName } from './names.ts'
import { type NotificationValue, notificationText, parseValue } from './format.ts'
import type { Op } from './client/requests.ts'
import type { KeyValue } from './client/responses.ts'

/** A notification as an operation of a transaction, bound to the lease of the claim that it is about: it cannot outlive that. */
export function notificationOp(
  kind: NotificationValue['kind'],
  { key, id, lease, value }: { key: string; id: string; lease: bigint; value: { inbox: string } },
): Op {
  return {
    kind: 'put',
    key: notificationName(value.inbox, kind, id),
    value: notificationText(kind, key, id),
    lease,
  }
}

/** A transaction may have 128 operations. */
const NOTIFICATIONS_PER_CALL = 100
const LOOK_AGAIN_MS = 500
/** A later version may know more of them. */
const KINDS: ReadonlySet<string> = new Set<NotificationValue['kind']>([
  'contended',
  'revoked',
  'evicted',
  'adopted',
])

/** Where other processes write what this one must know. A notification stays until it was read. */
export class Inbox {
  readonly address: string
  private readonly client: EtcdClient
  private readonly runtime: Runtime
  private readonly receive: (notification: NotificationValue) => void
  private begun = false
  private closed = false
  private timer: Timer | null = null
  private read: string[] = []

  constructor(client: EtcdClient, runtime: Runtime, receive: (notification: NotificationValue) => void) {
    this.client = client
    this.runtime = runtime
    this.receive = receive
    this.address = runtime.newId()
  }

  /** Listens from that revision on, so that nothing is missed that was written since. Later calls do nothing. */
  begin(revision: number): void {
    if (this.begun) return
    this.begun = true
    this.client.watcher.watch(
      { ...inboxRange(this.address), fromRevision: revision, ignore: 'deletes' },
      {
        changed: (events) => this.open(events.map(({ kv }) => kv)),
        missed: () => this.lookThrough(),
      },
    )
  }

  close(): void {
    this.closed = true
    this.timer?.clear()
  }

  /** The watch is over: until a look tells from where to go on, nothing is heard. */
  private lookThrough(): void {
    this.client.range(inboxRange(this.address)).then(
      ({ kvs, header }) => {
        this.begun = false
        this.begin(header.revision + 1)
        this.open(kvs)
      },
      () => {
        if (!this.closed) this.timer = this.runtime.setTimer(() => this.lookThrough(), LOOK_AGAIN_MS, true)
      },
    )
  }

  private open(notifications: readonly KeyValue[]): void {
    for (const { key, value } of notifications) {
      if (this.read.length === 0) this.runtime.defer(() => this.tidy())
      this.read.push(key)
      const notification = parseValue<NotificationValue>(value)
      if (notification !== null && KINDS.has(notification.kind)) this.receive(notification)
    }
  }

  private tidy(): void {
    while (this.read.length > 0) {
      const success = this.read.splice(0, NOTIFICATIONS_PER_CALL).map((key): Op => ({ kind: 'delete', key }))
      this.client.txn({ compare: [], success, failure: [] }).catch(ignore)
    }
  }
}

/** What a notification tells the core; what it means for the claim itself is the store's business. */
export function noticeOf({ kind, key, id }: NotificationValue): StoreNotice {
  switch (kind) {
    case 'contended':
    case 'revoked':
      return { kind, key, id }
    case 'evicted':
    case 'adopted':
      return { kind: 'lost', key, id, cause: kind }
  }
}

/** A notification that stays is read again, or ends with its lease. */
function ignore(): void {}
