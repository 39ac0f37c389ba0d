import type { MysqlSession } from './client.ts'

/** As much of a connection of a pool as is needed to keep it, of `mysql2` and of `mariadb` alike. */
export interface PoolConnection {
  on(event: string, listener: () => void): unknown
  destroy(): void
}

/** A connection that is not given back: it is ended, and the pool opens another when it needs one. */
export function keptSession(
  connection: PoolConnection,
  query: MysqlSession['query'],
  lost: () => void,
  destroy: () => void,
): MysqlSession {
  let open = true
  const end = (): void => {
    if (open) lost()
    open = false
  }
  connection.on('error', end)
  connection.on('end', end)
  return {
    query,
    close: () => {
      open = false
      destroy()
    },
  }
}
