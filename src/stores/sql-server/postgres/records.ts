import type { Clock } from '../../../model/index.ts'
import type {
  ClaimRef,
  RecordRow,
  RecordTable,
  RowChange,
  TableSnapshot,
  VersionedRecord,
} from '../tables/database.ts'
import { type InboxTable, NOTIFICATION_KEPT_MS, NOTIFICATIONS_PER_READ } from '../tables/inbox.ts'
import type { TableNames } from '../tables/names.ts'
import { recordValues } from '../tables/records.ts'
import { encodeName, recordSnapshotOf } from '../tables/rows.ts'

import type { PostgresClient } from './clients/client.ts'

import { recordStatements } from './statements.ts'

type RecordChange = RowChange<RecordRow, VersionedRecord>

export class PostgresRecords implements RecordTable {
  private readonly client: PostgresClient
  private readonly text: ReturnType<typeof recordStatements>

  constructor(client: PostgresClient, names: TableNames, relaxed: boolean) {
    this.client = client
    this.text = recordStatements(names, relaxed)
  }

  async read(keys: readonly string[]): Promise<TableSnapshot<RecordRow>> {
    const found = await this.client.run(this.text.look, [keys])
    return recordSnapshotOf(found)
  }

  async save(changes: readonly RecordChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const saved = await this.client.run(this.text.save(false), valuesOf(changes, clock))
    return new Set(saved.map(({ key }) => key as string))
  }

  /** Records have no notifications. */
  async notify(): Promise<void> {}

  async saveHeld(change: RecordChange, clock: Clock, { key, id }: ClaimRef): Promise<boolean> {
    const values = [...valuesOf([change], clock), key, encodeName(id)]
    return (await this.client.run(this.text.save(true), values)).length > 0
  }
}

function valuesOf(changes: readonly RecordChange[], clock: Clock): unknown[] {
  const rows = changes.map(({ state }) => recordValues(state, clock))
  return [
    changes.map(({ key }) => key),
    changes.map(({ before }) => before?.revision ?? null),
    rows.map(({ version }) => version),
    rows.map(({ value }) => value),
    rows.map(({ expiresAtMs }) => expiresAtMs),
    rows.map(({ forgetAtMs }) => forgetAtMs),
  ]
}

/** The notifications of a process, among the records. */
export function inboxTable({ records }: TableNames, client: PostgresClient): InboxTable {
  const post = `WITH t AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us)
    INSERT INTO ${records} (key, revision, version, value, expires_at, forget_at)
    SELECT $1, t.us, 1, $2, NULL, t.us / 1000 + ${NOTIFICATION_KEPT_MS} FROM t
    ON CONFLICT (key) DO UPDATE SET forget_at = excluded.forget_at`
  const read = `SELECT key, value FROM ${records} WHERE key >= $1 AND key < $2 LIMIT ${NOTIFICATIONS_PER_READ}`
  return {
    write: (name, notification) => client.run(post, [FIRST + name, notification]),
    read: async (from, to) =>
      (await client.run(read, [FIRST + from, FIRST + to])).map(({ key, value }) => {
        return { name: (key as string).slice(FIRST.length), text: value as string }
      }),
    remove: (name) => client.run(`DELETE FROM ${records} WHERE key = $1`, [FIRST + name]),
  }
}

/** Together with the random part that follows, no record has such a name. */
const FIRST = '\u0001'
