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
import { encodeName, recordSnapshotOf, text } from '../tables/rows.ts'
import type { MysqlClient, Value } from './clients/client.ts'
import { bytes, bytesOrNull } from './clients/client.ts'
import { MS, recordStatements, US } from './statements.ts'

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
    return recordSnapshotOf(found)
  }

  async save(changes: readonly RecordChange[], clock: Clock): Promise<ReadonlySet<string>> {
    const saved = await Promise.all(changes.map((change) => this.saveOne(change, clock, null)))
    return new Set(changes.filter((_, index) => saved[index]).map(({ key }) => key))
  }

  /** Records have no notifications. */
  async notify(): Promise<void> {}

  saveHeld(change: RecordChange, clock: Clock, proof: ClaimRef): Promise<boolean> {
    return this.saveOne(change, clock, proof)
  }

  private async saveOne(
    { key, before, state }: RecordChange,
    clock: Clock,
    proof: ClaimRef | null,
  ): Promise<boolean> {
    const { version, value, expiresAtMs, forgetAtMs } = recordValues(state, clock)
    const values: Value[] = [version, bytesOrNull(value), expiresAtMs, forgetAtMs]
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

/** The notifications of a process, among the records. */
export function inboxTable({ records }: TableNames, client: MysqlClient): InboxTable {
  const inbox = `FROM ${records} WHERE \`key\``
  const post = `INSERT INTO ${records} (\`key\`, revision, version, value, expires_at, forget_at)
    VALUES (?, ${US}, 1, ?, NULL, ${MS} + ${NOTIFICATION_KEPT_MS}) ON DUPLICATE KEY UPDATE forget_at = VALUES(forget_at)`
  const read = `SELECT \`key\`, value ${inbox} >= ? AND \`key\` < ? LIMIT ${NOTIFICATIONS_PER_READ}`
  return {
    write: (name, notification) => client.run(post, [key(name), bytes(notification)]),
    read: async (from, to) =>
      (await client.run(read, [key(from), key(to)])).rows.map((row) => {
        return { name: text(row.key)?.slice(FIRST.length) as string, text: text(row.value) ?? '' }
      }),
    remove: (name) => client.run(`DELETE ${inbox} = ?`, [key(name)]),
  }
}

/** No record has a name with this prefix. */
const FIRST = '\u0000'

function key(name: string): Buffer {
  return bytes(`${FIRST}${name}`)
}
