import type { Runtime } from '../../core/runtime.ts'
import type { StoreNotice } from '../../core/store.ts'

import type { EtcdClient } from './client/client.ts'
import { inboxRange, letterName } from './names.ts'
import { type LetterValue, letterText, parseValue } from './value.ts'
import type { Op } from './wire/requests.ts'
import type { KeyValue } from './wire/responses.ts'

/** A letter as an operation of a transaction, bound to the lease of the claim that it is about: it cannot outlive that. */
export function letterOp(
  kind: LetterValue['kind'],
  { key, id, lease, value }: { key: string; id: string; lease: bigint; value: { inbox: string } },
): Op {
  return { kind: 'put', key: letterName(value.inbox, kind, id), value: letterText(kind, key, id), lease }
}

/** Where other processes write what this one must know. A letter stays until it was read. */
export class Inbox {
  readonly address: string
  private readonly client: EtcdClient
  private readonly runtime: Runtime
  private readonly receive: (letter: LetterValue) => void
  private begun = false
  private read: string[] = []

  constructor(client: EtcdClient, runtime: Runtime, receive: (letter: LetterValue) => void) {
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
        missed: () => void this.lookThrough().catch(ignore),
      },
    )
  }

  private async lookThrough(): Promise<void> {
    const { kvs, header } = await this.client.range(inboxRange(this.address))
    this.begun = false
    this.begin(header.revision + 1)
    this.open(kvs)
  }

  private open(letters: readonly KeyValue[]): void {
    for (const { key, value } of letters) {
      if (this.read.length === 0) this.runtime.defer(() => void this.tidy().catch(ignore))
      this.read.push(key)
      this.receive(parseValue<LetterValue>(value))
    }
  }

  private async tidy(): Promise<void> {
    const success = this.read.splice(0).map((key): Op => ({ kind: 'delete', key }))
    await this.client.txn({ compare: [], success, failure: [] })
  }
}

/** What a letter tells the core; what it means for the claim itself is the store's business. */
export function noticeOf({ kind, key, id }: LetterValue): StoreNotice {
  switch (kind) {
    case 'contended':
    case 'revoked':
      return { kind, key, id }
    case 'evicted':
    case 'adopted':
      return { kind: 'lost', key, id, cause: kind }
  }
}

/** A letter that stays is read again, or ends with its lease. */
function ignore(): void {}
