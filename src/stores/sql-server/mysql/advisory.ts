import type {
  LockOperation,
  SeenHolder,
  SessionConnection,
  SessionServer,
} from '../advisory/session-server.ts'
import { connectionNotKept, digestOf, sessionTraits } from '../advisory/session-server.ts'

import type { StatementTimeout } from '../statement-timeout.ts'
import type { MysqlClient, MysqlSession } from './clients/client.ts'

export const ADVISORY_TRAITS = sessionTraits({
  name: 'mysql+advisory',
  modes: ['exclusive'],
  scope:
    'every process that reaches the same MariaDB or MySQL server, whatever its database, and every program that takes the same lock with GET_LOCK',
})

/** With the prefix no more than 64 characters, the limit of a name, and no upper case, because names ignore case. */
const DIGITS = 48
/** The highest value of the setting, in seconds. */
const LONGEST_IDLE_SECONDS = 31_536_000

export class MysqlSessions implements SessionServer {
  readonly traits = ADVISORY_TRAITS
  private readonly client: MysqlClient
  private readonly timeout: StatementTimeout

  constructor(client: MysqlClient, timeout: StatementTimeout) {
    this.client = client
    this.timeout = timeout
  }

  nameOf(key: string): string {
    return `holdfast:${digestOf(key, DIGITS)}`
  }

  async open(lost: () => void): Promise<SessionConnection> {
    const session = await this.client.session(lost)
    try {
      const [row] = await this.timeout.bound(session.query('SELECT CONNECTION_ID() AS id'), () => {})
      return new MysqlConnection(session, Number(row?.id))
    } catch (error) {
      session.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

class MysqlConnection implements SessionConnection {
  private readonly session: MysqlSession
  private readonly id: number

  constructor(session: MysqlSession, id: number) {
    this.session = session
    this.id = id
  }

  /** Reads one column, which is faster than several. The names need no quoting: a prefix and digits. */
  async run(operations: readonly LockOperation[]): Promise<readonly boolean[]> {
    const calls = operations.map(({ kind, name }) =>
      kind === 'lock' ? `GET_LOCK('${name}', 0)` : `RELEASE_LOCK('${name}')`,
    )
    const what = calls.length > 1 ? `CONCAT_WS(' ', ${calls.map(orNo).join(', ')})` : orNo(calls[0] ?? '1')
    const [row] = await this.session.query(`SELECT IF(CONNECTION_ID() = ${this.id}, ${what}, NULL) AS said`)
    if (row?.said == null)
      throw connectionNotKept('a proxy before the server changes connections between statements')
    if (calls.length === 1) return [Number(row.said) === 1]
    return calls.length === 0
      ? []
      : String(row.said)
          .split(' ')
          .map((one) => one === '1')
  }

  async keepFor(idleMs: number): Promise<void> {
    const seconds = Math.min(Math.ceil(idleMs / 1000), LONGEST_IDLE_SECONDS)
    await this.session.query(`SET SESSION wait_timeout = ${seconds}`)
  }

  async holders(name: string): Promise<readonly SeenHolder[]> {
    const [row] = await this.session.query(`SELECT IS_USED_LOCK('${name}') AS holder`)
    if (row?.holder == null || Number(row.holder) === this.id) return []
    return [{ label: `the connection ${row.holder}`, shared: false }]
  }

  async close(): Promise<void> {
    this.session.close()
  }
}

/** The functions answer NULL for an unknown lock. */
function orNo(call: string): string {
  return `COALESCE(${call}, 0)`
}
