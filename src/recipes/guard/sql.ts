import { checkObject, checkOptions, hasMethods, type NamesOf } from '../../core/check.ts'
import { show } from '../../core/durations.ts'
import { InvalidArgumentError } from '../../errors.ts'
import { checkedToken, stale } from './memory.ts'

/** A value that a column is set to or compared with. JSON goes into a column as text. */
export type SqlScalar = string | number | bigint | boolean | Date | Uint8Array

export interface FencedUpdate {
  readonly table: string
  /** The row: the columns and values of its key. */
  readonly where: Readonly<Record<string, SqlScalar>>
  readonly set: Readonly<Record<string, SqlScalar | null>>
  readonly token: bigint | null
  /** The column of the highest token, a 64-bit integer: `fence` by default. */
  readonly fence?: string
}

/** The used part of `pg`: a pool, a client, or the client of a transaction. */
export interface PgLike {
  query(
    text: string,
    values: readonly unknown[],
  ): Promise<{ rowCount: number | null; rows: readonly unknown[] }>
}

/** The used part of `mysql2/promise`: a pool, or the connection of a transaction. */
export interface MysqlLike {
  execute(options: { sql: string; rowsAsArray: false }, values: never[]): Promise<readonly [unknown, unknown]>
}

interface Dialect {
  readonly name: (word: string) => string
  readonly value: (number: number) => string
  readonly token: (number: number) => string
  readonly text: (column: string) => string
  /** The value that a key column is compared with. */
  readonly key: (value: SqlScalar) => SqlScalar
}

const UPDATE: NamesOf<FencedUpdate> = { table: true, where: true, set: true, token: true, fence: true }
const PG: Dialect = {
  name: (word) => `"${word}"`,
  value: (number) => `$${number}`,
  token: (number) => `$${number}`,
  text: (column) => `CAST(${column} AS text)`,
  key: (value) => value,
}
const MYSQL: Dialect = {
  name: (word) => `\`${word}\``,
  value: () => '?',
  // MySQL compares a text with a number as floats, which cannot tell neighbouring tokens apart.
  token: () => 'CAST(? AS SIGNED)',
  text: (column) => `CAST(${column} AS CHAR)`,
  // MySQL compares a text column with a number as numbers, and then 0 equals every text without digits.
  key: (value) =>
    typeof value === 'boolean' ? String(Number(value)) : typeof value === 'number' ? String(value) : value,
}

/**
 * Changes a row in one statement, only if the token is not below the row's fence, and raises the fence.
 * Resolves to false if there is no such row; throws `StaleTokenError` if a newer holder was there.
 */
export async function updateFencedPg(client: PgLike, update: FencedUpdate): Promise<boolean> {
  checkCall(client, 'query', 'a pool or a client of pg', update)
  const { text, values, probe, key } = statementsOf(update, PG)
  if (((await client.query(text, values)).rowCount ?? 0) > 0) return true
  const { rows } = await client.query(probe, key)
  return judge(update, rows[0])
}

/** The same for MySQL and MariaDB through `mysql2/promise`. */
export async function updateFencedMysql(client: MysqlLike, update: FencedUpdate): Promise<boolean> {
  checkCall(client, 'execute', 'a pool or a connection of mysql2/promise', update)
  const { text, values, probe, key } = statementsOf(update, MYSQL)
  // Prepared: the server itself separates the statement from its values.
  const [result] = await client.execute({ sql: text, rowsAsArray: false }, values as never[])
  if ((result as { affectedRows: number }).affectedRows > 0) return true
  const [rows] = await client.execute({ sql: probe, rowsAsArray: false }, key as never[])
  return judge(update, (rows as readonly unknown[])[0])
}

function checkCall(client: object, method: string, what: string, update: FencedUpdate): void {
  if (!hasMethods(client, [method])) throw new InvalidArgumentError('client', `must be ${what}`)
  const { where, set } = checkOptions('update', update, UPDATE)
  checkObject('where', where)
  checkObject('set', set)
}

function judge({ table, token }: FencedUpdate, row: unknown): false {
  if (row === undefined) return false
  throw stale(table, checkedToken(token), String((row as { fence: unknown }).fence))
}

function statementsOf({ table, where, set, token, fence = 'fence' }: FencedUpdate, dialect: Dialect) {
  const { name, value } = dialect
  const changes = columnsOf('set', set)
  const keys = columnsOf('where', where)
  if (keys.length === 0) throw new InvalidArgumentError('where', 'must name at least one column')
  for (const column of keys)
    if (where[column] === null) throw new InvalidArgumentError(`where.${column}`, 'must not be null')
  if (changes.some((column) => column.toLowerCase() === fence.toLowerCase()))
    throw new InvalidArgumentError('set', `must not name the column of the fence, ${fence}`)
  const [table_, fence_] = [tableOf(table, name), name(word('fence', fence))]
  let number = 0
  const assignments = changes.map((column) => `${name(column)} = ${value(++number)}`)
  assignments.push(`${fence_} = ${dialect.token(++number)}`)
  const matches = (first: number) => keys.map((column, index) => `${name(column)} = ${value(first + index)}`)
  const conditions = [...matches(number + 1), `${fence_} <= ${dialect.token(number + keys.length + 1)}`]
  const wanted = String(checkedToken(token))
  const key = keys.map((column) => dialect.key(where[column] as SqlScalar))
  return {
    text: `UPDATE ${table_} SET ${assignments.join(', ')} WHERE ${conditions.join(' AND ')}`,
    values: [...changes.map((column) => set[column]), wanted, ...key, wanted],
    probe: `SELECT ${dialect.text(fence_)} AS fence FROM ${table_} WHERE ${matches(1).join(' AND ')}`,
    key,
  }
}

/** The columns of `where` or `set`; their values may come from a request, where an id can be of any type. */
function columnsOf(argument: string, values: Readonly<Record<string, unknown>>): string[] {
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    throw new InvalidArgumentError(argument, `must be an object of columns and values, not ${show(values)}`)
  const columns = Object.keys(values)
  for (const column of columns) {
    const value = values[column]
    if (isScalar(value) || value === null) word(argument, column)
    else
      throw new InvalidArgumentError(
        `${argument}.${word(argument, column)}`,
        `must be a text, a finite number, a bigint, a boolean, a valid Date or bytes, not ${show(value)}`,
      )
  }
  return columns
}

function isScalar(value: unknown): value is SqlScalar {
  if (typeof value === 'number') return Number.isFinite(value)
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  return ['string', 'bigint', 'boolean'].includes(typeof value) || value instanceof Uint8Array
}

function tableOf(table: string, name: Dialect['name']): string {
  return String(table)
    .split('.')
    .map((part) => name(word('table', part)))
    .join('.')
}

/** A name becomes a part of the statement, so only a plain one is allowed. */
function word(argument: string, text: string): string {
  if (typeof text === 'string' && /^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError(
    argument,
    `must be a plain name of letters, digits, _ and $, not ${show(text)}`,
  )
}
