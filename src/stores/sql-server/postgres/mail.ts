import { type InboxTable, NOTIFICATION_KEPT_MS, NOTIFICATIONS_PER_READ } from '../tables/inbox.ts'
import type { TableNames } from '../tables/names.ts'
import type { PostgresClient } from './clients/client.ts'

export function mailTable({ records }: TableNames, client: PostgresClient): InboxTable {
  const post = `WITH t AS (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS us)
    INSERT INTO ${records} (key, revision, version, value, expires_at, forget_at)
    SELECT $1, t.us, 1, $2, NULL, t.us / 1000 + ${NOTIFICATION_KEPT_MS} FROM t
    ON CONFLICT (key) DO UPDATE SET forget_at = excluded.forget_at`
  const read = `SELECT key, value FROM ${records} WHERE key >= $1 AND key < $2 LIMIT ${NOTIFICATIONS_PER_READ}`
  return {
    write: (name, letter) => client.run(post, [FIRST + name, letter]),
    read: async (from, to) =>
      (await client.run(read, [FIRST + from, FIRST + to])).map(({ key, value }) => {
        return { name: (key as string).slice(FIRST.length), letter: value as string }
      }),
    remove: (name) => client.run(`DELETE FROM ${records} WHERE key = $1`, [FIRST + name]),
  }
}

/** With the random part that follows, no record has a name that begins so. */
const FIRST = '\u0001'
