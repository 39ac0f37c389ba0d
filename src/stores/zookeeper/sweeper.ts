import { alive } from '../../model/index.ts'
import type { Desk } from './context.ts'
import { textOf } from './names.ts'
import type { Shelf } from './shelf.ts'

/** How often one process looks through all records for those whose own process is gone. */
const EVERY_MS = 3_600_000
const MOST_OWN = 10_000
const OWN_AT_ONCE = 4
const RECORDS_AT_ONCE = 50

/**
 * Deletes the nodes of records that have expired and are never asked for again: each process those that it wrote, as it writes
 * others, and one process of all, once an hour, the rest.
 */
export class Sweeper {
  private readonly desk: Desk
  private readonly shelf: Shelf
  private nextAtMs = Number.NEGATIVE_INFINITY
  /** When the records end that this process wrote, in the order they were written. */
  private readonly own = new Map<string, number>()

  constructor(desk: Desk, shelf: Shelf) {
    this.desk = desk
    this.shelf = shelf
  }

  /** Called by those who write what will expire: where nobody does, there is nothing to sweep. */
  consider(key: string, ttlMs: number): void {
    const nowMs = this.desk.runtime.nowMs()
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

  /** It may have been written anew, by another process: only what has expired is deleted. */
  private async deleteExpired(key: string): Promise<void> {
    const { client } = await this.desk.sessions.any()
    const found = await this.shelf.find(client, key)
    if (found === null) return
    // The ensemble's clock is known once something was written, and the record was.
    if (alive(found.record, this.desk.clock.nowMs()) === null)
      await this.shelf.replace(client, key, found, null, [])
  }

  private async sweep(): Promise<void> {
    const { client } = await this.desk.sessions.any()
    const { paths } = this.desk
    const { stat } = await client.getData(paths.records)
    if (stat.version > 0 && this.desk.clock.nowMs() - stat.mtimeMs < EVERY_MS) return
    // The version counts the sweeps; whoever raises it does the next one.
    const { mtimeMs } = await client.setData(paths.records, Buffer.alloc(0), stat.version)
    this.desk.clock.learn(mtimeMs)
    const { names } = await client.getChildren(paths.records)
    for (let first = 0; first < names.length; first += RECORDS_AT_ONCE) {
      const page = names.slice(first, first + RECORDS_AT_ONCE)
      // A record that cannot be read keeps nobody from deleting the others.
      await Promise.allSettled(page.map((name) => this.deleteExpired(textOf(name))))
    }
  }
}
