import { alive } from '../../model/index.ts'
import type { StoreContext } from './context.ts'
import { textOf } from './names.ts'
import { findRecord, replaceRecord } from './record-nodes.ts'

/** One process per hour looks through all records, for those of dead processes. */
const EVERY_MS = 3_600_000
const MOST_OWN = 10_000
const OWN_AT_ONCE = 4
const RECORDS_AT_ONCE = 50

/**
 * Deletes expired records that nobody reads again: each process deletes its own while it writes others, and one process per
 * hour the rest.
 */
export class RecordSweeper {
  private readonly context: StoreContext
  private nextAtMs = Number.NEGATIVE_INFINITY
  /** The ends of the records that this process wrote, in the order of the writes. */
  private readonly own = new Map<string, number>()

  constructor(context: StoreContext) {
    this.context = context
  }

  /** Called before each write of a record with a ttl. */
  consider(key: string, ttlMs: number): void {
    const nowMs = this.context.runtime.nowMs()
    this.sweepOwn(nowMs)
    this.own.delete(key)
    if (this.own.size < MOST_OWN) this.own.set(key, nowMs + ttlMs)
    if (nowMs < this.nextAtMs) return
    this.nextAtMs = nowMs + EVERY_MS
    this.sweep().catch(() => {})
  }

  private sweepOwn(nowMs: number): void {
    let looked = 0
    for (const [key, endsAtMs] of this.own) {
      if (looked++ === OWN_AT_ONCE) return
      this.own.delete(key)
      if (endsAtMs > nowMs) this.own.set(key, endsAtMs)
      else this.deleteExpired(key).catch(() => {})
    }
  }

  /** Another process may have written the record again, so its end is checked. */
  private async deleteExpired(key: string): Promise<void> {
    const { client } = await this.context.sessions.any()
    const found = await findRecord(this.context, client, key)
    if (found !== null && alive(found.record, this.context.clock.nowMs()) === null)
      await replaceRecord(this.context, client, key, found, null)
  }

  private async sweep(): Promise<void> {
    const { clock, paths, sessions } = this.context
    const { client } = await sessions.any()
    const { stat } = await client.getData(paths.records)
    if (stat.version > 0 && clock.nowMs() - stat.mtimeMs < EVERY_MS) return
    // The version counts the sweeps, and its increment elects the process of this one.
    const { mtimeMs } = await client.setData(paths.records, Buffer.alloc(0), stat.version)
    clock.learn(mtimeMs)
    const names = await client.list(paths.records)
    for (let first = 0; first < names.length; first += RECORDS_AT_ONCE) {
      const page = names.slice(first, first + RECORDS_AT_ONCE)
      // An unreadable record does not keep the others.
      await Promise.allSettled(page.map((name) => this.deleteExpired(textOf(name))))
    }
  }
}
