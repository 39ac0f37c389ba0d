import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import { refuseNewer } from '../format.ts'
import type { TableNames } from '../server/names.ts'
import type { Database, Setback } from '../server/tables.ts'
import type { PostgresClient } from './clients/client.ts'
import { endForeign, inspect, overdue } from './inspection.ts'
import { claimIn } from './joint.ts'
import { PostgresKeys } from './keys.ts'
import { PostgresRecords } from './records.ts'
import { guardedSchema } from './schema.ts'
import { cleanStatement } from './statements.ts'

/** What PostgreSQL's codes say about a statement that certainly did nothing. */
const SETBACKS: Readonly<Record<string, Setback>> = {
  '40001': 'conflict',
  '40P01': 'conflict',
  // The division by which a group of changes is taken back.
  '22012': 'conflict',
  // A state that the server cannot take apart by itself, because a text in it has U+0000 or half a character.
  '22P05': 'conflict',
  '22P02': 'conflict',
  '55P03': 'locked',
  '42P01': 'missing',
}

export class PostgresDatabase implements Database {
  readonly keys: PostgresKeys
  readonly records: PostgresRecords
  private readonly client: PostgresClient
  private readonly names: TableNames

  constructor(client: PostgresClient, names: TableNames, relaxed: boolean) {
    this.client = client
    this.names = names
    this.keys = new PostgresKeys(client, names, relaxed)
    this.records = new PostgresRecords(client, names, relaxed)
  }

  /** Tables that are there are not made, so that a user who may not make any can use them. */
  async prepare(): Promise<void> {
    const format = (await this.format()) ?? (await this.make())
    refuseNewer(format, 'locks')
  }

  async clean(): Promise<number> {
    let removed = 0
    for (const table of [this.names.keys, this.names.records])
      removed += (await this.client.run(cleanStatement(table), [])).length
    return removed
  }

  overdue(forMs: number) {
    return overdue(this.client, [this.names.keys, this.names.records], forMs)
  }

  inspect(foreign: readonly string[], runtime: Runtime): AsyncIterable<Fact> {
    return inspect(this.client, this.names, foreign, runtime)
  }

  endForeign(lock: Remains, olderMs: number): Promise<boolean> {
    return endForeign(this.client, lock, olderMs)
  }

  claimIn(tx: object) {
    return claimIn(this.names, tx)
  }

  readonly reasonOf = (error: unknown): Setback | null => {
    const { code } = (error ?? {}) as { code?: unknown }
    return (typeof code === 'string' ? SETBACKS[code] : undefined) ?? null
  }

  private async make(): Promise<number> {
    await this.client.script(guardedSchema(this.names))
    return (await this.format()) ?? 0
  }

  private async format(): Promise<number | null> {
    try {
      const [row] = await this.client.run(`SELECT value FROM ${this.names.meta} WHERE name = 'format'`, [])
      return row === undefined ? null : Number(row.value)
    } catch (error) {
      if (this.reasonOf(error) === 'missing') return null
      throw error
    }
  }
}
