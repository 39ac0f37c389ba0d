import type { Clock } from '../../../model/index.ts'
import type {
  Proof,
  RecordRow,
  RecordTable,
  RowChange,
  TableSnapshot,
  VersionedRecord,
} from '../tables/database.ts'
import type { TableNames } from '../tables/names.ts'
import { recordRowOf } from '../tables/rows.ts'
import { encodeName } from '../tables/texts.ts'
import type { PostgresClient } from './clients/client.ts'
import { clockOf } from './rows.ts'
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
    const rows = new Map<string, RecordRow>()
    for (const { key, revision, version, value, expires_at } of found) {
      if (revision === null) continue
      rows.set(key as string, {
        revision: Number(revision),
        version: Number(version),
        value: value as string | null,
        expiresAtMs: expires_at === null ? null : Number(expires_at),
      })
    }
    return { clock: clockOf(found), rows }
  }

  async save(changes: readonly RecordChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const saved = await this.client.run(this.text.save(false), valuesOf(changes, clock))
    return new Set(saved.map(({ key }) => key as string))
  }

  /** Nobody is told of a record. */
  async notify(): Promise<void> {}

  async saveHeld(change: RecordChange, clock: Clock, { key, id }: Proof): Promise<boolean> {
    const values = [...valuesOf([change], clock), key, encodeName(id)]
    return (await this.client.run(this.text.save(true), values)).length > 0
  }
}

function valuesOf(changes: readonly RecordChange[], clock: Clock): unknown[] {
  const rows = changes.map(({ state }) => recordRowOf(state, clock))
  return [
    changes.map(({ key }) => key),
    changes.map(({ before }) => before?.revision ?? null),
    rows.map(({ version }) => version),
    rows.map(({ value }) => value),
    rows.map(({ expiresAtMs }) => expiresAtMs),
    rows.map(({ forgetAtMs }) => forgetAtMs),
  ]
}
