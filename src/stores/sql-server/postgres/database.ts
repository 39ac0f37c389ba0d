import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { FailureReason, ServerDatabase } from '../tables/database.ts'
import { requireTableFormat, requireUnused } from '../tables/format.ts'
import type { TableNames } from '../tables/names.ts'
import { clockOf } from '../tables/rows.ts'
import type { PostgresClient } from './clients/client.ts'
import { endForeign, inspect, overdue } from './inspection.ts'
import { PostgresKeys } from './keys.ts'
import { PostgresRecords } from './records.ts'

import { guardedSchema, upgradeStatements } from './schema.ts'
import { cleanStatements, staleStatement } from './statements.ts'
import { claimIn } from './transactions.ts'

/** The error codes of statements that certainly did nothing. */
const REASONS: Readonly<Record<string, FailureReason>> = {
  '40001': 'conflict',
  '40P01': 'conflict',
  // The division by zero that undoes a group of changes.
  '22012': 'conflict',
  // The claim joined the queue at the same moment through another call.
  '23505': 'conflict',
  '55P03': 'locked',
  '42P01': 'missing',
}

export class PostgresDatabase implements ServerDatabase {
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

  /** Creates no tables where they exist, so that a user without that right can use them. */
  async prepare(): Promise<boolean> {
    const found = await this.format()
    requireTableFormat(found ?? (await this.create()))
    // Removes nothing, but a read-only server refuses it.
    await this.client.run(`DELETE FROM ${this.names.keys} WHERE false`, [])
    return found === null
  }

  async clean(): Promise<number> {
    let removed = 0
    for (const statement of cleanStatements(this.names))
      removed += (await this.client.run(statement, [])).length
    return removed
  }

  async stale(): Promise<readonly string[]> {
    return (await this.client.run(staleStatement(this.names.keys), [])).map(({ key }) => key as string)
  }

  async upgrade(): Promise<boolean> {
    if ((await this.format()) !== 1) return false
    const found = await this.client.run(
      `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us, key, holder, expires_at, state
        FROM ${this.names.keys} WHERE state IS NOT NULL`,
      [],
    )
    const rows = found.map(({ key, holder, expires_at, state }) => {
      return {
        key: key as string,
        holder: holder as string | null,
        expiresAtMs: Number(expires_at),
        state: state as string,
      }
    })
    requireUnused(rows, clockOf(found).nowMs)
    await this.client.script(`BEGIN; ${upgradeStatements(this.names)} COMMIT`)
    return true
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

  readonly reasonOf = (error: unknown): FailureReason | null => {
    const { code } = (error ?? {}) as { code?: unknown }
    return (typeof code === 'string' ? REASONS[code] : undefined) ?? null
  }

  private async create(): Promise<number> {
    try {
      await this.client.script(guardedSchema(this.names))
      return (await this.format()) ?? 0
    } catch (error) {
      // Above READ COMMITTED, a transaction that waited for another one to create them cannot see them.
      const found = this.reasonOf(error) === 'conflict' ? await this.format() : null
      if (found === null) throw error
      return found
    }
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
