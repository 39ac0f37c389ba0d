import type { Records } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import {
  type Clock,
  type Deal,
  type DealAnswer,
  type RecordCondition,
  type RecordState,
  type TakeAnswer,
  take,
  trade,
  type WriteAnswer,
} from '../../model/index.ts'
import type { Desk } from './desk.ts'
import { whole } from './fresh.ts'
import { present } from './guards.ts'
import { newLeaseId } from './leases.ts'
import { findEntry, holdingOf, lineOf } from './line.ts'
import { recordName } from './names.ts'
import { Turns } from './turns.ts'
import type { Compare, Op, PutOp } from './wire/requests.ts'
import type { KeyValue } from './wire/responses.ts'

/** etcd counts in seconds; the spare one makes up for the time between the lease and the write. */
const STEP_MS = 1000
const SPARE_MS = 1000
/** How often others may be faster before a change counts as unanswered. */
const CHANGES = 100

/** Records as keys: their version is the revision that wrote them, so that an old one never comes back. */
export class EtcdRecords implements Records {
  private readonly desk: Desk
  /** Changes of one record by this process take turns: among each other they would only be in the way. */
  private readonly turns = new Turns()

  constructor(desk: Desk) {
    this.desk = desk
  }

  async read(key: string): Promise<RecordState | null> {
    const { kvs } = await this.desk.client.range({ key: recordName(key) })
    return this.recordOf(kvs[0])
  }

  async write(
    key: string,
    value: string,
    ttlMs: number | null,
    condition: RecordCondition,
  ): Promise<WriteAnswer> {
    const compare = await this.compareOf(key, condition)
    if (compare === null) return { kind: 'refused', current: await this.read(key) }
    const lease = await this.leaseFor(ttlMs)
    const put: PutOp = { kind: 'put', key: recordName(key), value, lease, previous: true }
    const failure: Op[] = [{ kind: 'range', key: put.key }]
    const { succeeded, results, header } = await this.desk.client.txn({ compare, success: [put], failure })
    const [result] = results
    if (succeeded) {
      this.endLease(result?.previous[0]?.lease ?? 0n)
      return { kind: 'written', version: header.revision }
    }
    this.endLease(lease)
    return { kind: 'refused', current: await this.recordOf(result?.kvs[0]) }
  }

  async remove(key: string, condition: RecordCondition): Promise<boolean> {
    const compare = await this.compareOf(key, condition)
    if (compare === null) return false
    const success: Op[] = [{ kind: 'delete', key: recordName(key), previous: true }]
    const { succeeded, results } = await this.desk.client.txn({ compare, success, failure: [] })
    if (!succeeded || results[0]?.count !== 1) return false
    this.endLease(results[0].previous[0]?.lease ?? 0n)
    return true
  }

  take(key: string, count: number): Promise<TakeAnswer> {
    return this.change(key, (record, clock) => take(record, count, clock))
  }

  trade(key: string, deal: Deal): Promise<DealAnswer> {
    const wallMs = this.desk.runtime.wallMs()
    const ttlMs = deal.kind === 'open' ? deal.ttlMs : null
    return this.change(key, (record, clock) => trade(record, deal, 0, clock, wallMs), ttlMs)
  }

  /** Reads, decides and writes if nobody else has written. The lease, and so the time to live, stays as it is. */
  private change<A extends TakeAnswer | DealAnswer>(
    key: string,
    decide: (record: RecordState | null, clock: Clock) => { next: RecordState | null; answer: A },
    ttlMs: number | null = null,
  ): Promise<A> {
    return this.turns.next(key, async () => {
      const name = recordName(key)
      let { kvs } = await this.desk.client.range({ key: name })
      for (let changes = 0; changes < CHANGES; changes++) {
        const [kv] = kvs
        const record = kv === undefined ? null : plain(kv)
        const { next, answer } = decide(record, CLOCK)
        if (next === null || next === record) return answer
        const lease = kv === undefined ? await this.leaseFor(ttlMs) : 0n
        const put: PutOp = {
          kind: 'put',
          key: name,
          value: next.value,
          ...(kv ? { ignoreLease: true } : { lease }),
        }
        const compare: Compare[] = [{ target: 'mod', key: name, is: '=', value: kv?.changed ?? 0 }]
        const failure: Op[] = [{ kind: 'range', key: name }]
        const { succeeded, results, header } = await this.desk.client.txn({
          compare,
          success: [put],
          failure,
        })
        if (succeeded)
          return answer.kind === 'taken' && 'version' in answer
            ? { ...answer, version: header.revision }
            : answer
        this.endLease(lease)
        kvs = results[0]?.kvs ?? []
      }
      throw new StoreError('the record changes too fast')
    })
  }

  /** What must be true in the transaction itself; null when it is known to be false. */
  private async compareOf(key: string, condition: RecordCondition): Promise<Compare[] | null> {
    const name = recordName(key)
    switch (condition.kind) {
      case 'always':
        return []
      case 'absent':
        return [{ target: 'create', key: name, is: '=', value: 0 }]
      case 'version':
        return condition.version > 0
          ? [{ target: 'mod', key: name, is: '=', value: condition.version }]
          : null
      case 'held':
        return this.compareHeld(condition)
    }
  }

  /** Whoever holds a key holds it for as long as its claim is there. */
  private async compareHeld(claim: { readonly key: string; readonly id: string }): Promise<Compare[] | null> {
    const { book, client } = this.desk
    const known = book.get(claim)
    if (known?.state === 'held') return [present(known)]
    const { kvs, header } = await client.range(whole(claim.key))
    const line = lineOf(claim.key, kvs, header.revision)
    const entry = findEntry(line, claim.id)
    return entry === undefined || holdingOf(line, claim.id) === undefined ? null : [present(entry)]
  }

  private async recordOf(kv: KeyValue | undefined): Promise<RecordState | null> {
    if (kv === undefined) return null
    const { client, runtime } = this.desk
    if (kv.lease === 0n) return plain(kv)
    const leftSeconds = await client.timeToLive(kv.lease)
    return leftSeconds < 0 ? null : { ...plain(kv), expiresAtMs: runtime.wallMs() + leftSeconds * STEP_MS }
  }

  private async leaseFor(ttlMs: number | null): Promise<bigint> {
    if (ttlMs === null) return 0n
    const { client, runtime } = this.desk
    return (await client.grant(Math.ceil((ttlMs + SPARE_MS) / STEP_MS), newLeaseId(runtime))).id
  }

  /** A lease that no record is bound to any more would only be there until its time is up. */
  private endLease(lease: bigint): void {
    if (lease !== 0n) this.desk.client.revoke(lease).catch(ignore)
  }
}

/** Versions come from etcd, and so does the end of a record. */
const CLOCK: Clock = { nowMs: 0, stampUs: 0 }

function plain({ value, changed }: KeyValue): RecordState {
  return { value, version: changed, expiresAtMs: null }
}

function ignore(): void {}
