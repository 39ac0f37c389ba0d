import type { Records } from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import {
  type Clock,
  type RecordCondition,
  type RecordState,
  type TakeAnswer,
  takeFromRecord,
  type WriteAnswer,
} from '../../model/index.ts'
import type { StoreContext } from './context.ts'
import { present } from './guards.ts'
import { newLeaseId } from './leases.ts'
import { recordName } from './names.ts'
import { findEntry, membersOf } from './read.ts'
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
  private readonly context: StoreContext
  /** Changes of one record by this process take turns: among each other they would only be in the way. */
  private readonly turns = new Turns()

  constructor(context: StoreContext) {
    this.context = context
  }

  async read(key: string): Promise<RecordState | null> {
    const { kvs } = await this.context.client.range({ key: recordName(key) })
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
    const { succeeded, results, header } = await this.context.client.txn({ compare, success: [put], failure })
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
    const { succeeded, results } = await this.context.client.txn({ compare, success, failure: [] })
    if (!succeeded || results[0]?.count !== 1) return false
    this.endLease(results[0].previous[0]?.lease ?? 0n)
    return true
  }

  take(key: string, count: number): Promise<TakeAnswer> {
    return this.change(key, (record, clock) => takeFromRecord(record, count, clock))
  }

  /** Reads, decides and writes if nobody else has written. The lease, and so the time to live, stays as it is. */
  private change(
    key: string,
    decide: (record: RecordState | null, clock: Clock) => { next: RecordState | null; answer: TakeAnswer },
  ): Promise<TakeAnswer> {
    return this.turns.next(key, async () => {
      const name = recordName(key)
      let { kvs } = await this.context.client.range({ key: name })
      for (let changes = 0; changes < CHANGES; changes++) {
        const [kv] = kvs
        const { next, answer } = decide(kv === undefined ? null : plain(kv), CLOCK)
        if (kv === undefined || next === null || answer.kind !== 'taken') return answer
        const put: PutOp = { kind: 'put', key: name, value: next.value, ignoreLease: true }
        const compare: Compare[] = [{ target: 'mod', key: name, is: '=', value: kv.changed }]
        const failure: Op[] = [{ kind: 'range', key: name }]
        const { succeeded, results, header } = await this.context.client.txn({
          compare,
          success: [put],
          failure,
        })
        if (succeeded) return { ...answer, version: header.revision }
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
    const local = this.context.claims.get(claim)
    if (local?.state === 'held') return [present(local)]
    const entry = await findEntry(this.context, claim.key, claim.id)
    if (entry === undefined || (await membersOf(this.context, entry)).length === 0) return null
    return [present(entry)]
  }

  private async recordOf(kv: KeyValue | undefined): Promise<RecordState | null> {
    if (kv === undefined) return null
    const { client, runtime } = this.context
    if (kv.lease === 0n) return plain(kv)
    const leftSeconds = await client.timeToLive(kv.lease)
    return leftSeconds < 0 ? null : { ...plain(kv), expiresAtMs: runtime.wallMs() + leftSeconds * STEP_MS }
  }

  private async leaseFor(ttlMs: number | null): Promise<bigint> {
    if (ttlMs === null) return 0n
    const { client, runtime } = this.context
    return (await client.grant(Math.ceil((ttlMs + SPARE_MS) / STEP_MS), newLeaseId(runtime))).id
  }

  /** A lease that no record is bound to any more would only be there until its time is up. */
  private endLease(lease: bigint): void {
    if (lease !== 0n) this.context.client.revoke(lease).catch(ignore)
  }
}

/** Versions come from etcd, and so does the end of a record. */
const CLOCK: Clock = { nowMs: 0, stampUs: 0 }

function plain({ value, changed }: KeyValue): RecordState {
  return { value, version: changed, expiresAtMs: null }
}

function ignore(): void {}
