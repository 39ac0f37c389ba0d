import type { Fact, Remains } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { StoreWarning } from '../../../core/store.ts'
import type { TableNames } from '../tables/names.ts'
import type { Row } from '../tables/rows.ts'
import type { PostgresClient } from './clients/client.ts'

/** The settings that decide how much a crash or a failover loses. */
const SETTINGS = `
  SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_pages,
    current_setting('synchronous_commit') AS committed, current_setting('synchronous_standby_names') AS standbys,
    (SELECT count(*) FROM pg_stat_replication) AS replicas,
    (SELECT relpersistence FROM pg_class WHERE oid = to_regclass($1)) AS kept,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms`

/** Advisory locks of idle sessions. */
const ADVISORY = `
  SELECT 'advisory:' || l.classid || ':' || l.objid AS name, a.pid::text || ' ' || a.backend_start || ' ' || a.state_change AS proof,
    a.pid, coalesce(nullif(a.application_name, ''), a.usename::text) AS program,
    (extract(epoch FROM clock_timestamp() - a.state_change) * 1000)::bigint AS idle_ms
  FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND a.state = 'idle' AND a.datname = current_database()
    AND ('advisory:' || l.classid || ':' || l.objid) LIKE ANY ($1::text[])
  ORDER BY 1 LIMIT 1000`

export async function* inspect(
  client: PostgresClient,
  names: TableNames,
  foreign: readonly string[],
  runtime: Runtime,
): AsyncIterable<Fact> {
  const sentAtMs = runtime.nowMs()
  const [said] = await client.run(SETTINGS, [names.keys])
  const halfWayMs = runtime.wallMs() - (runtime.nowMs() - sentAtMs) / 2
  if (said !== undefined) {
    yield { kind: 'clock', whose: 'the PostgreSQL server', aheadMs: Number(said.now_ms) - halfWayMs }
    yield* warningsOf(said, names)
  }
  if (foreign.length === 0) return
  const patterns = foreign.map((pattern) => pattern.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%'))
  for (const { name, proof, pid, program, idle_ms } of await client.run(ADVISORY, [patterns]))
    yield {
      kind: 'foreign',
      name: String(name),
      what: `an advisory lock of session ${pid} (${program}), which is idle`,
      count: 1,
      blocking: true,
      idleMs: Number(idle_ms),
      proof: String(proof),
    }
}

/** Ends the session that has the lock, if it has been idle since it was reported. PostgreSQL cannot end a single lock. */
export async function endForeign(
  client: PostgresClient,
  { proof }: Remains,
  olderMs: number,
): Promise<boolean> {
  const ended = await client.run(
    `SELECT pg_terminate_backend(a.pid) AS ended FROM pg_stat_activity a
     WHERE a.pid::text || ' ' || a.backend_start || ' ' || a.state_change = $1 AND a.state = 'idle'
       AND extract(epoch FROM clock_timestamp() - a.state_change) * 1000 >= $2::float8
       AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted)`,
    [proof, olderMs],
  )
  return ended[0]?.ended === true
}

export async function overdue(client: PostgresClient, tables: readonly string[], forMs: number) {
  const found = tables.map(async (table) => {
    const [row] = await client.run(
      `SELECT count(*) AS rows FROM ${table}
       WHERE forget_at <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint`,
      [forMs],
    )
    return { table: table.replaceAll('"', ''), count: Number(row?.rows ?? 0) }
  })
  return Promise.all(found)
}

function* warningsOf(said: Row, { keys }: TableNames): Iterable<StoreWarning> {
  for (const [name, value] of [
    ['fsync', said.fsync],
    ['full_page_writes', said.full_pages],
    ['synchronous_commit', said.committed],
  ])
    if (value === 'off')
      yield warning(
        'DURABILITY',
        `PostgreSQL has ${name} switched off, so a crash of its machine may take back grants whose holders are at work`,
        `psql -c "ALTER SYSTEM SET ${name} = on" -c "SELECT pg_reload_conf()"`,
      )
  if (said.kept === 'u')
    yield warning(
      'UNLOGGED',
      `the table ${keys} is unlogged: a crash of PostgreSQL empties it, and every lock is granted again`,
      `psql -c 'ALTER TABLE ${keys} SET LOGGED'`,
    )
  if (Number(said.replicas) > 0 && said.standbys === '')
    yield warning(
      'REPLICAS',
      'PostgreSQL copies to its standbys without waiting for them: a failover loses the grants that were not copied yet',
      `psql -c "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'" -c "SELECT pg_reload_conf()"`,
    )
}

function warning(code: string, message: string, fix: string): StoreWarning {
  return { kind: 'warning', id: '', key: '', code: `HOLDFAST_POSTGRES_${code}`, message, fix }
}
