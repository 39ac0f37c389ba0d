import { alive } from '../../model/index.ts'
import type { Desk } from './desk.ts'
import { textOf } from './names.ts'
import type { Shelf } from './shelf.ts'
import type { ZooKeeperClient } from './wire/client.ts'

/** Expired records are gone for everybody at once; that their nodes go, too, is in no hurry. */
const EVERY_MS = 3_600_000
const RECORDS_AT_ONCE = 50

/** Deletes what has expired and is never asked for again. One process of all does it, and the next an hour later. */
export class Sweeper {
  private readonly desk: Desk
  private readonly shelf: Shelf
  private nextAtMs = Number.NEGATIVE_INFINITY

  constructor(desk: Desk, shelf: Shelf) {
    this.desk = desk
    this.shelf = shelf
  }

  /** Called by those who write what will expire: where nobody does, there is nothing to sweep. */
  consider(): void {
    const nowMs = this.desk.runtime.nowMs()
    if (nowMs < this.nextAtMs) return
    this.nextAtMs = nowMs + EVERY_MS
    this.sweep().catch(() => {})
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
      await Promise.all(page.map((name) => this.sweepOne(client, textOf(name))))
    }
  }

  private async sweepOne(client: ZooKeeperClient, key: string): Promise<void> {
    const found = await this.shelf.find(client, key)
    if (found === null || alive(found.record, this.desk.clock.nowMs()) !== null) return
    await this.shelf.replace(client, key, found, null, [])
  }
}
