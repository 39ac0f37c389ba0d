import type { Fact } from '../../../core/facts.ts'
import type { Runtime } from '../../../core/runtime.ts'
import type { MysqlClient } from './clients/client.ts'
import { MS } from './statements.ts'

export async function* inspect(
  client: MysqlClient,
  foreign: readonly string[],
  runtime: Runtime,
): AsyncIterable<Fact> {
  const sentAtMs = runtime.nowMs()
  const { rows } = await client.run(`SELECT ${MS} AS now_ms, @@innodb_flush_log_at_trx_commit AS flush`, [])
  const halfWayMs = runtime.wallMs() - (runtime.nowMs() - sentAtMs) / 2
  yield { kind: 'clock', whose: 'the database server', aheadMs: Number(rows[0]?.now_ms) - halfWayMs }
  if (Number(rows[0]?.flush) !== 1)
    yield {
      kind: 'warning',
      id: '',
      key: '',
      code: 'HOLDFAST_MYSQL_DURABILITY',
      message:
        'the database does not write every commit through to the disk (innodb_flush_log_at_trx_commit is not 1), so a crash may take back grants whose holders are at work',
      fix: 'mysql -e "SET GLOBAL innodb_flush_log_at_trx_commit = 1"',
    }
  if (foreign.length > 0)
    yield {
      kind: 'unseen',
      what: 'foreign locks',
      why: 'the database does not say who has which GET_LOCK',
    }
}

export async function overdue(client: MysqlClient, tables: readonly string[], forMs: number) {
  const found = tables.map(async (table) => {
    const { rows } = await client.run(
      `SELECT COUNT(*) AS rows_due FROM ${table} WHERE forget_at <= ${MS} - ?`,
      [forMs],
    )
    return { table: table.replaceAll('`', ''), count: Number(rows[0]?.rows_due ?? 0) }
  })
  return Promise.all(found)
}
