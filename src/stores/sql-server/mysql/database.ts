import type { Fact } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import { UnsupportedError } from '../../../errors.ts'
import type { FailureReason, ServerDatabase } from '../tables/database.ts'
import { requireTableFormat, requireUnused } from '../tables/format.ts'
import type { TableNames } from '../tables/names.ts'
import { clockOf, text } from '../tables/rows.ts'
import type { MysqlClient } from './clients/client.ts'
import { bytes } from './clients/client.ts'
import { inspect, overdue } from './inspection.ts'
import { MysqlKeys } from './keys.ts'
import { MysqlRecords } from './records.ts'

import { schemaOf, upgradeStatements } from './schema.ts'
import { cleanStatements, staleStatements, US } from './statements.ts'
import { claimIn } from './transactions.ts'

/** The error numbers of statements that certainly did nothing. */
const REASONS: Readonly<Record<number, FailureReason>> = {
  // A deadlock, a row that has changed since it was read, a row that another process created meanwhile.
  1213: 'conflict',
  1020: 'conflict',
  1062: 'conflict',
  // The overflow that undoes a group of changes.
  1690: 'conflict',
  1205: 'locked',
  1146: 'missing',
}

export class MysqlDatabase implements ServerDatabase {
  readonly keys: MysqlKeys
  readonly records: MysqlRecords
  private readonly client: MysqlClient
  private readonly names: TableNames

  constructor(client: MysqlClient, names: TableNames) {
    this.client = client
    this.names = names
    this.keys = new MysqlKeys(client, names)
    this.records = new MysqlRecords(client, names)
  }

  /** Creates no tables where they exist, so that a user without that right can use them. */
  async prepare(): Promise<boolean> {
    const { rows } = await this.client.run('SELECT VERSION() AS version, @@autocommit AS alone', [])
    if (Number(rows[0]?.alone) !== 1)
      throw new UnsupportedError('the connections of the pool must commit each statement: set autocommit = 1')
    const mariadb = /mariadb/i.test(text(rows[0]?.version) ?? '')
    this.keys.adapt(mariadb)
    this.records.adapt(mariadb)
    const found = await this.format()
    requireTableFormat(found ?? (await this.create()))
    // Removes nothing, but a read-only server refuses it.
    await this.client.run(`DELETE FROM ${this.names.keys} WHERE false`, [])
    return found === null
  }

  async clean(): Promise<number> {
    let removed = 0
    for (const statement of cleanStatements(this.names))
      removed += (await this.client.run(statement, [])).affected
    return removed
  }

  async stale(): Promise<readonly string[]> {
    const { find, postpone } = staleStatements(this.names.keys)
    const keys = (await this.client.run(find, [])).rows.map(({ key }) => text(key) as string)
    if (keys.length > 0) await this.client.run(postpone(keys.length), keys.map(bytes))
    return keys
  }

  async upgrade(): Promise<boolean> {
    if ((await this.format()) !== 1) return false
    const { rows } = await this.client.run(
      `SELECT ${US} AS us, \`key\`, holder, expires_at, state FROM ${this.names.keys} WHERE state IS NOT NULL`,
      [],
    )
    const used = rows.map(({ key, holder, expires_at, state }) => {
      return {
        key: text(key) as string,
        holder: text(holder),
        expiresAtMs: Number(expires_at),
        state: text(state) as string,
      }
    })
    requireUnused(used, clockOf(rows).nowMs)
    for (const statement of upgradeStatements(this.names)) await this.client.run(statement, [])
    return true
  }

  overdue(forMs: number) {
    return overdue(this.client, [this.names.keys, this.names.records], forMs)
  }

  inspect(foreign: readonly string[], runtime: Runtime): AsyncIterable<Fact> {
    return inspect(this.client, foreign, runtime)
  }

  /** `inspect` never reports a foreign lock. */
  async endForeign(): Promise<boolean> {
    return false
  }

  claimIn(tx: object) {
    return claimIn(this.names, tx)
  }

  readonly reasonOf = (error: unknown): FailureReason | null => {
    const { errno } = (error ?? {}) as { errno?: unknown }
    return (typeof errno === 'number' ? REASONS[errno] : undefined) ?? null
  }

  private async create(): Promise<number> {
    for (const statement of schemaOf(this.names)) await this.client.run(statement, [])
    return (await this.format()) ?? 0
  }

  private async format(): Promise<number | null> {
    try {
      const { rows } = await this.client.run(`SELECT value FROM ${this.names.meta} WHERE name = 'format'`, [])
      return rows[0] === undefined ? null : Number(text(rows[0].value))
    } catch (error) {
      if (this.reasonOf(error) === 'missing') return null
      throw error
    }
  }
}
