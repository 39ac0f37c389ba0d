import { StoreError } from '../../../errors.ts'
import type {
  LockOperation,
  SeenHolder,
  SessionConnection,
  SessionServer,
} from '../advisory/session-server.ts'
import { connectionNotKept, digestOf, sessionTraits } from '../advisory/session-server.ts'

import type { StatementTimeout } from '../statement-timeout.ts'
import type { Row } from '../tables/rows.ts'
import type { PostgresClient, PostgresSession } from './clients/client.ts'

export const ADVISORY_TRAITS = sessionTraits(
  {
    name: 'postgres+advisory',
    modes: ['exclusive', 'shared'],
    scope:
      'every process that reaches the same PostgreSQL database, and every program that takes the same advisory lock',
  },
  ', and on servers before PostgreSQL 14 until its connection ends',
)

/** 64 bits of the hash of a key, as PostgreSQL's bigint. */
function numberOf(key: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digestOf(key, 16)}`)).toString()
}

/** The server's kernel notices a vanished machine after about the sum of these seconds. */
const KEEP_ALIVE = { tcp_keepalives_idle: 5, tcp_keepalives_interval: 2, tcp_keepalives_count: 3 }
/** The highest value of the setting, in milliseconds. */
const LONGEST_IDLE_MS = 2 ** 31 - 1
/** Two connections are compared so often: other clients of a pooler may hide it once. */
const PROBES = 3

const DO: Readonly<Record<string, string>> = {
  'lock false': 'pg_try_advisory_lock',
  'lock true': 'pg_try_advisory_lock_shared',
  'unlock false': 'pg_advisory_unlock',
  'unlock true': 'pg_advisory_unlock_shared',
}
const WORDS = Object.keys(DO)
const EACH = WORDS.map((word, number) => `WHEN ${number} THEN ${DO[word]}(name)`).join(' ')

export class PostgresSessions implements SessionServer {
  readonly traits = ADVISORY_TRAITS
  readonly nameOf = numberOf
  private readonly client: PostgresClient
  private readonly timeout: StatementTimeout

  constructor(client: PostgresClient, timeout: StatementTimeout) {
    this.client = client
    this.timeout = timeout
  }

  async open(lost: () => void): Promise<SessionConnection> {
    const session = await this.client.session({ lost })
    try {
      return await this.timeout.bound(this.prepare(session), ignore)
    } catch (error) {
      await session.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.client.close()
  }

  private async prepare(session: PostgresSession): Promise<SessionConnection> {
    const pid = await pidOf(session)
    // A server reports the real process id, a pooler an invented one.
    if (session.pid !== pid) await this.refusePooler(session, pid)
    const settings = Object.entries(KEEP_ALIVE).map(
      ([name, value]) => `set_config('${name}', '${value}', false)`,
    )
    await session.query(`SELECT ${settings.join(', ')}`, [])
    return new PostgresConnection(session, pid)
  }

  /** Behind a pooler in transaction mode a second connection gets the backend that the first has just used. */
  private async refusePooler(session: PostgresSession, pid: number): Promise<void> {
    const second = await this.client.session({ lost: () => {} })
    try {
      for (let probe = 0; probe < PROBES; probe++) {
        await second.query('BEGIN', [])
        const other = await pidOf(second)
        const again = await pidOf(session)
        await second.query('ROLLBACK', [])
        if (other === pid || again !== pid)
          throw connectionNotKept('a pooler in transaction mode stands before the server')
      }
    } finally {
      await second.close()
    }
  }
}

class PostgresConnection implements SessionConnection {
  private readonly session: PostgresSession
  private readonly sign: string
  private readonly single: Readonly<Record<string, string>>
  private readonly several: string

  /** The statements contain the process id: any other process does nothing and answers NULL. */
  constructor(session: PostgresSession, pid: number) {
    this.session = session
    const here = (what: string): string => `SELECT CASE pg_backend_pid() WHEN ${pid} THEN ${what} END AS done`
    this.sign = here('true')
    this.single = Object.fromEntries(WORDS.map((word) => [word, here(`${DO[word]}($1::bigint)`)]))
    this.several = `${here(`CASE step ${EACH} END`)} FROM unnest($1::int[], $2::bigint[]) AS operations(step, name)`
  }

  async run(operations: readonly LockOperation[]): Promise<readonly boolean[]> {
    const [first] = operations
    if (operations.length > 1) {
      const words = operations.map(({ kind, shared }) => WORDS.indexOf(`${kind} ${shared}`))
      const rows = await this.session.query(this.several, [words, operations.map(({ name }) => name)], true)
      return rows.map(done)
    }
    const rows =
      first === undefined
        ? await this.session.query(this.sign, [], true)
        : await this.session.query(this.single[`${first.kind} ${first.shared}`] as string, [first.name], true)
    const answer = done(rows[0] as Row)
    return first === undefined ? [] : [answer]
  }

  /** Sets nothing on servers before 14, which have no such setting. */
  async keepFor(idleMs: number): Promise<void> {
    await this.session.query(
      `SELECT set_config(name, $1, false) FROM pg_settings WHERE name = 'idle_session_timeout'`,
      [String(Math.min(Math.ceil(idleMs), LONGEST_IDLE_MS))],
    )
  }

  async holders(name: string): Promise<readonly SeenHolder[]> {
    const rows = await this.session.query(
      `SELECT pid, mode, application_name FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32 | objid::bigint) = $1::bigint`,
      [name],
    )
    return rows.map(({ pid, mode, application_name: program }) => ({
      label: `the connection with process ${pid}${program ? ` of ${program}` : ''}`,
      shared: mode === 'ShareLock',
    }))
  }

  close(): Promise<void> {
    return this.session.close()
  }
}

function done(row: Row): boolean {
  if (row.done === null) throw connectionNotKept('a pooler in transaction mode stands before the server')
  return row.done === true
}

function ignore(): void {}

async function pidOf(session: PostgresSession): Promise<number> {
  const [row] = await session.query('SELECT pg_backend_pid() AS pid', [])
  if (typeof row?.pid !== 'number') throw new StoreError('the server did not tell which process serves us')
  return row.pid
}
