import type { Runtime, Timer } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'
import { MOST_TOLD_OF_CONTENTION, type Mode } from '../../model/index.ts'
import type { EtcdClient } from './client/client.ts'
import type { Op, RangeOp } from './client/requests.ts'
import type { KeyValue, OpResult } from './client/responses.ts'
import { chunksOf, type StoreContext } from './context.ts'
import { type NotificationValue, notificationText, parseValue } from './format.ts'
import { present } from './guards.ts'
import type { LocalClaim } from './local-claims.ts'
import { inboxRange, notificationName, queueBefore, sectionOf } from './names.ts'
import { entryOf } from './snapshot.ts'

/** Each takes one of the 128 operations of a transaction. */
const DELETIONS_PER_CALL = 100
const RETRY_MS = 500
/** A later version may have other kinds. */
const KINDS: ReadonlySet<string> = new Set<NotificationValue['kind']>([
  'contended',
  'revoked',
  'evicted',
  'adopted',
])

/** Writes a notification, bound to the lease of its claim: it cannot outlive that. */
export function notificationOp(
  kind: NotificationValue['kind'],
  { key, id, lease, value }: { key: string; id: string; lease: bigint; value: { inbox: string } },
): Op {
  const text = notificationText(kind, key, id)
  return { kind: 'put', key: notificationName(value.inbox, kind, id), value: text, lease }
}

/** The inbox of a process: keys that other processes write and this one deletes after reading. */
export class EtcdInbox {
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

  /** Watches from that revision on. Later calls do nothing. */
  begin(revision: number): void {
    if (this.begun) return
    this.begun = true
    this.client.watcher.watch(
      { ...inboxRange(this.address), fromRevision: revision, ignore: 'deletes' },
      {
        changed: (events) => this.open(events.map(({ kv }) => kv)),
        missed: () => this.readAll(),
      },
    )
  }

  close(): void {
    this.closed = true
    this.timer?.clear()
  }

  /** After a compaction the watch is over: reads everything, and watches from there on. */
  private readAll(): void {
    this.client.range(inboxRange(this.address)).then(
      ({ kvs, header }) => {
        this.begun = false
        this.begin(header.revision + 1)
        this.open(kvs)
      },
      () => {
        if (!this.closed) this.timer = this.runtime.setTimer(() => this.readAll(), RETRY_MS, true)
      },
    )
  }

  private open(notifications: readonly KeyValue[]): void {
    for (const { key, value } of notifications) {
      if (this.read.length === 0) this.runtime.defer(() => this.deleteRead())
      this.read.push(key)
      const notification = parseValue<NotificationValue>(value)
      if (notification !== null && KINDS.has(notification.kind)) this.receive(notification)
    }
  }

  private deleteRead(): void {
    for (const some of chunksOf(this.read, DELETIONS_PER_CALL)) {
      const success = some.map((key): Op => ({ kind: 'delete', key }))
      this.client.txn({ success }).catch(ignore)
    }
    this.read = []
  }
}

/** The notification for the core. */
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

/** Reads the newest claims in the queue, which show whether somebody waits behind the holders of a key. */
export function contendedOp(key: string, kind: Mode['kind']): RangeOp {
  if (kind === 'exclusive') return { kind: 'range', ...sectionOf(key, 'queue'), limit: 2 }
  return { kind: 'range', ...sectionOf(key, 'queue', kind === 'shared' ? 'exclusive' : kind), limit: 1 }
}

export function isContended({ kvs }: OpResult, ownId: string): boolean {
  const others = kvs.map(entryOf).filter(({ id }) => id !== ownId)
  return others.some(({ value }) => value.state === 'waiting' || value.inbox === '')
}

/** Notifies the holders of a key that a claim waits. */
export async function tellHolders({ client }: StoreContext, { claim, order }: LocalClaim): Promise<void> {
  const { key, mode } = claim
  const ranges = [
    sectionOf(key, 'hold'),
    sectionOf(key, 'join', 'permits'),
    queueBefore(key, 'exclusive', order),
    queueBefore(key, mode.kind === 'permits' ? 'permits' : 'shared', order),
  ]
  const reads = ranges.map((range): RangeOp => ({ kind: 'range', ...range, limit: MOST_TOLD_OF_CONTENTION }))
  const { results } = await client.txn({ success: reads })
  const holders = results
    .flatMap(({ kvs }) => kvs.map(entryOf))
    .filter(({ value, id }) => value.state !== 'waiting' && value.inbox !== '' && id !== claim.id)
    .slice(0, MOST_TOLD_OF_CONTENTION)
  const success = holders.map((holder): Op => {
    const tell = [notificationOp('contended', holder)]
    return { kind: 'txn', compare: [present(holder)], success: tell }
  })
  if (success.length > 0) await client.txn({ success })
}

/** A notification that is not deleted is read again, or ends with its lease. */
function ignore(): void {}
