import { type InboxTable, NOTIFICATION_KEPT_MS, NOTIFICATIONS_PER_READ } from '../tables/inbox.ts'
import type { TableNames } from '../tables/names.ts'
import type { MysqlClient } from './clients/client.ts'
import { bytes, text } from './rows.ts'
import { MS, US } from './statements.ts'

export function mailTable({ records }: TableNames, client: MysqlClient): InboxTable {
  const inbox = `FROM ${records} WHERE \`key\``
  const post = `INSERT INTO ${records} (\`key\`, revision, version, value, expires_at, forget_at)
    VALUES (?, ${US}, 1, ?, NULL, ${MS} + ${NOTIFICATION_KEPT_MS}) ON DUPLICATE KEY UPDATE forget_at = VALUES(forget_at)`
  const read = `SELECT \`key\`, value ${inbox} >= ? AND \`key\` < ? LIMIT ${NOTIFICATIONS_PER_READ}`
  return {
    write: (name, letter) => client.run(post, [key(name), bytes(letter)]),
    read: async (from, to) =>
      (await client.run(read, [key(from), key(to)])).rows.map((row) => {
        return { name: text(row.key)?.slice(FIRST.length) as string, letter: text(row.value) ?? '' }
      }),
    remove: (name) => client.run(`DELETE ${inbox} = ?`, [key(name)]),
  }
}

/** No record has a name that begins so. */
const FIRST = '\u0000'

function key(name: string): Buffer {
  return bytes(`${FIRST}${name}`)
}
