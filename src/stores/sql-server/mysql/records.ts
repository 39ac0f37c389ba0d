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
import type { MysqlClient, Value } from './clients/client.ts'
import { bytes, clockOf, orNull, text } from './rows.ts'
import { recordStatements } from './statements.ts'

type RecordChange = RowChange<RecordRow, VersionedRecord>

export class MysqlRecords implements RecordTable {
  private readonly client: MysqlClient
  private readonly names: TableNames
  private text: ReturnType<typeof recordStatements>

  constructor(client: MysqlClient, names: TableNames) {
    this.client = client
    this.names = names
    this.text = recordStatements(names, false)
  }

  adapt(mariadb: boolean): void {
    this.text = recordStatements(this.names, mariadb)
  }

  async read(keys: readonly string[]): Promise<TableSnapshot<RecordRow>> {
    const { rows: found } = await this.client.run(this.text.look(keys.length), keys.map(bytes))
    const rows = new Map<string, RecordRow>()
    for (const { key, revision, version, value, expires_at } of found) {
      if (revision === null) continue
      rows.set(text(key) as string, {
        revision: Number(revision),
        version: Number(version),
        value: text(value),
        expiresAtMs: expires_at === null ? null : Number(expires_at),
      })
    }
    return { clock: clockOf(found), rows }
  }

  async save(changes: readonly RecordChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const saved = await Promise.all(changes.map((change) => this.saveOne(change, clock, null)))
    return new Set(changes.filter((_, place) => saved[place]).map(({ key }) => key))
  }

  /** Nobody is told of a record. */
  async notify(): Promise<void> {}

  saveHeld(change: RecordChange, clock: Clock, proof: Proof): Promise<boolean> {
    return this.saveOne(change, clock, proof)
  }

  private async saveOne(
    { key, before, state }: RecordChange,
    clock: Clock,
    proof: Proof | null,
  ): Promise<boolean> {
    const { version, value, expiresAtMs, forgetAtMs } = recordRowOf(state, clock)
    const values: Value[] = [version, orNull(value), expiresAtMs, forgetAtMs]
    const proven: Value[] = proof === null ? [] : [bytes(proof.key), bytes(encodeName(proof.id))]
    const send = async (insert: string, update: string) => {
      const { affected } = await (before === undefined
        ? this.client.run(insert, [bytes(key), ...values, ...proven])
        : this.client.run(update, [...proven, ...values, bytes(key), before.revision]))
      return affected > 0
    }
    if (proof === null) return send(this.text.insert, this.text.update)
    const { insertHeld, updateHeld } = this.text
    return (await send(insertHeld.sole, updateHeld.sole)) || (await send(insertHeld.other, updateHeld.other))
  }
}
