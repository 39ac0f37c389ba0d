import { show } from '../../core/durations.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { stale, tokenOf } from './memory.ts'

export interface FencedUpdate {
  readonly table: string
  /** Which row: columns and values of its key. */
  readonly where: Readonly<Record<string, unknown>>
  readonly set: Readonly<Record<string, unknown>>
  readonly token: bigint | null
  /** The column that keeps the highest token, a 64-bit integer: `fence` by default. */
  readonly fence?: string
}

/** As much of `pg` as is needed: a pool, a client, or the client of a transaction. */
export interface PgLike {
  query(
    text: string,
    values: readonly unknown[],
  ): Promise<{ rowCount: number | null; rows: readonly unknown[] }>
}

/** As much of `mysql2/promise` as is needed. */
export interface MysqlLike {
  query(text: string, values: readonly unknown[]): Promise<readonly [unknown, unknown]>
}

interface Dialect {
  readonly name: (word: string) => string
  readonly value: (place: number) => string
}

const PG: Dialect = { name: (word) => `"${word}"`, value: (place) => `$${place}` }
const MYSQL: Dialect = { name: (word) => `\`${word}\``, value: () => '?' }

/**
 * Changes a row in one statement, only with a token that is not below the row's fence, and moves the fence.
 * Resolves to false when there is no such row; throws `StaleTokenError` when a newer holder was there.
 */
export async function updateFencedPg(client: PgLike, update: FencedUpdate): Promise<boolean> {
  const { text, values, probe, key } = statementsOf(update, PG)
  if (((await client.query(text, values)).rowCount ?? 0) > 0) return true
  const { rows } = await client.query(probe, key)
  return judge(update, rows[0])
}

/** The same for MySQL and MariaDB through `mysql2/promise`. */
export async function updateFencedMysql(client: MysqlLike, update: FencedUpdate): Promise<boolean> {
  const { text, values, probe, key } = statementsOf(update, MYSQL)
  const [result] = await client.query(text, values)
  if ((result as { affectedRows: number }).affectedRows > 0) return true
  const [rows] = await client.query(probe, key)
  return judge(update, (rows as readonly unknown[])[0])
}

function judge({ table, token }: FencedUpdate, row: unknown): false {
  if (row === undefined) return false
  throw stale(table, tokenOf(token), String((row as { fence: unknown }).fence))
}

function statementsOf({ table, where, set, token, fence = 'fence' }: FencedUpdate, dialect: Dialect) {
  const { name, value } = dialect
  const [keys, changes] = [Object.keys(where), Object.keys(set)]
  if (keys.length === 0) throw new InvalidArgumentError('where', 'must name at least one column')
  const [table_, fence_] = [tableOf(table, name), name(word('fence', fence))]
  let place = 0
  const assignments = changes.map((column) => `${name(word('set', column))} = ${value(++place)}`)
  assignments.push(`${fence_} = ${value(++place)}`)
  const matches = (first: number) =>
    keys.map((column, index) => `${name(word('where', column))} = ${value(first + index)}`)
  const conditions = [...matches(place + 1), `${fence_} <= ${value(place + keys.length + 1)}`]
  const wanted = String(tokenOf(token))
  const key = Object.values(where)
  return {
    text: `UPDATE ${table_} SET ${assignments.join(', ')} WHERE ${conditions.join(' AND ')}`,
    values: [...Object.values(set), wanted, ...key, wanted],
    probe: `SELECT ${fence_} AS fence FROM ${table_} WHERE ${matches(1).join(' AND ')}`,
    key,
  }
}

function tableOf(table: string, name: Dialect['name']): string {
  return String(table)
    .split('.')
    .map((part) => name(word('table', part)))
    .join('.')
}

/** A name is put into the statement as it is, so only a plain one is let in. */
function word(argument: string, text: string): string {
  if (typeof text === 'string' && /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError(
    argument,
    `must be a plain name of letters, digits, _ and $, not ${show(text)}`,
  )
}
