import type { Store } from 'holdfast'
import { type AnyMysqlClient, type MysqlOptions, mysql } from 'holdfast/mysql'
import mariadb from 'mariadb'
import mysql2 from 'mysql2/promise'

/** A client as a user would make it, with the way to close it. */
interface Brought {
  readonly client: AnyMysqlClient
  close(): Promise<unknown>
}

type Bring = (url: string) => Brought

/** The clients that the store is tested with. */
export const CLIENTS: Record<string, Bring> = {
  mysql2: (uri) => {
    const pool = mysql2.createPool({ uri, connectionLimit: 2 })
    return { client: pool, close: () => pool.end() }
  },
  mariadb: (url) => {
    const pool = mariadb.createPool(`${url.replace('mysql:', 'mariadb:')}?connectionLimit=2&minimumIdle=0`)
    return { client: pool, close: () => pool.end() }
  },
}

/** A store over a client of its own, which is closed with it. */
export function openStore(bring: Bring, url: string, options: MysqlOptions = {}): Store {
  const { client, close } = bring(url)
  const store = mysql(client, options)
  const closeStore = store.close.bind(store)
  store.close = async () => {
    await closeStore()
    await close()
  }
  return store
}

/** A user of the database for every client, by which its connections are known. */
export class Users {
  private readonly url: string
  private readonly operator: mysql2.Pool
  private made = 0

  constructor(url: string, operator: mysql2.Pool) {
    this.url = url
    this.operator = operator
  }

  async make(): Promise<{ user: string; url: string }> {
    const user = `test_${++this.made}`
    await this.operator.query(`GRANT ALL ON *.* TO ${user}@'%' IDENTIFIED BY 'secret'`)
    return { user, url: this.url.replace('root@', `${user}:secret@`) }
  }

  /** Cuts every connection of that user, as a reset of the network would. */
  async cut(user: string): Promise<void> {
    await this.operator.query(`KILL USER ${user}`)
  }
}
