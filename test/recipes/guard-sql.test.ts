import { InvalidArgumentError } from 'holdfast'
import { type FencedUpdate, type MysqlLike, updateFencedMysql, updateFencedPg } from 'holdfast/guard'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest'
import { startMariadb } from '../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { failure } from '../core/support.ts'

const [mariadb, postgres] = await Promise.all([startMariadb(), startPostgres()])
const mysqlPool = mysql2.createPool(mariadb.url)
const pgPool = new pg.Pool({ connectionString: postgres.url })
await mysqlPool.query('CREATE TABLE stock (id VARCHAR(20) PRIMARY KEY, left_ INT, fence BIGINT NOT NULL)')
await mysqlPool.query(
  'CREATE TABLE orders (id BIGINT PRIMARY KEY, at DATETIME, bytes BLOB, paid BOOLEAN, fence BIGINT NOT NULL)',
)
await pgPool.query('CREATE TABLE stock (id TEXT PRIMARY KEY, left_ INT, fence BIGINT NOT NULL)')
await pgPool.query(
  'CREATE TABLE orders (id BIGINT PRIMARY KEY, at TIMESTAMPTZ, bytes BYTEA, paid BOOLEAN, fence BIGINT NOT NULL)',
)
afterAll(async () => {
  await Promise.all([mysqlPool.end(), pgPool.end()])
  await Promise.all([mariadb.stop(), postgres.stop()])
})

type Row = Readonly<Record<string, unknown>>

describe.each([
  {
    name: 'MariaDB',
    update: (update: FencedUpdate) => updateFencedMysql(mysqlPool, update),
    run: async (text: string) => (await mysqlPool.query(text))[0] as Row[],
  },
  {
    name: 'PostgreSQL',
    update: (update: FencedUpdate) => updateFencedPg(pgPool, update),
    run: async (text: string) => (await pgPool.query(text)).rows as Row[],
  },
])('on $name', ({ update, run }) => {
  beforeEach(async () => {
    await run('DELETE FROM stock')
    await run("INSERT INTO stock VALUES ('apples', 1, 0), ('pears', 2, 0)")
  })

  it.each([
    ['an object that names a column', '{"id": 1}'],
    ['an object', '{}'],
    ['a list', '["apples", "pears"]'],
    ['a list of one', '["apples"]'],
    ['null', 'null'],
  ])('%s out of JSON in the place of an id is refused, and nothing is changed', async (_, json) => {
    const where = { id: JSON.parse(json) }
    const refused = await failure(update({ table: 'stock', where, set: { left_: 9 }, token: 1n }))
    expect(refused).toBeInstanceOf(InvalidArgumentError)
    expect(refused).toMatchObject({ argument: 'where.id' })
    expect(await run('SELECT id FROM stock WHERE left_ = 9')).toEqual([])
  })

  it.each([0, false, 0n])('%s out of JSON is no text, and no row of texts is changed', async (id) => {
    expect(await update({ table: 'stock', where: { id }, set: { left_: 9 }, token: 1n })).toBe(false)
    expect(await run('SELECT id FROM stock WHERE left_ = 9')).toEqual([])
  })

  it('only the highest token is let in, to the last digit', async () => {
    const write = (token: bigint) =>
      update({ table: 'stock', where: { id: 'pears' }, set: { left_: 3 }, token })
    expect(await write(9_223_372_036_854_775_806n)).toBe(true)
    expect((await failure(write(9_223_372_036_854_775_805n))).message).toBe(
      'stock has seen token 9223372036854775806; a write with token 9223372036854775805 comes too late',
    )
    expect(await write(9_223_372_036_854_775_807n)).toBe(true)
    expect(await update({ table: 'stock', where: { id: 'plums' }, set: {}, token: 1n })).toBe(false)
  })

  it('every kind of scalar is written and found', async () => {
    await run('DELETE FROM orders')
    await run('INSERT INTO orders VALUES (9007199254740993, NULL, NULL, NULL, 0), (7, NULL, NULL, NULL, 0)')
    const at = new Date('2026-01-02T03:04:05Z')
    const set = { at, bytes: Buffer.from([0, 255]), paid: true }
    expect(await update({ table: 'orders', where: { id: 9_007_199_254_740_993n }, set, token: 1n })).toBe(
      true,
    )
    expect(await update({ table: 'orders', where: { id: 7 }, set, token: 1n })).toBe(true)
    const where = { id: 7, at, paid: true, bytes: new Uint8Array([0, 255]) }
    expect(await update({ table: 'orders', where, set: { at: null, paid: null }, token: 2n })).toBe(true)
    expect(await run('SELECT CAST(id AS CHAR(20)) AS id FROM orders WHERE at IS NULL')).toMatchObject([
      { id: expect.stringMatching(/^7 *$/) },
    ])
    expect(await run('SELECT bytes FROM orders WHERE id = 9007199254740993')).toEqual([
      { bytes: Buffer.from([0, 255]) },
    ])
  })
})

test('values that no column can take are refused before the database is asked', async () => {
  const client = {
    query: () => Promise.reject(new Error('must not be asked')),
    execute: () => Promise.reject(new Error('must not be asked')),
  }
  const whole = { table: 'stock', where: { id: 1 }, set: { left_: 2 }, token: 1n }
  for (const [wrong, argument] of [
    [{ ...whole, set: { left_: { toSqlString: () => '1' } } }, 'set.left_'],
    [{ ...whole, set: { left_: [1] } }, 'set.left_'],
    [{ ...whole, set: { left_: undefined } }, 'set.left_'],
    [{ ...whole, set: { left_: () => 1 } }, 'set.left_'],
    [{ ...whole, set: { left_: Number.NaN } }, 'set.left_'],
    [{ ...whole, set: { at: new Date('never') } }, 'set.at'],
    [{ ...whole, set: { Fence: 7 } }, 'set'],
    [{ ...whole, set: null }, 'set'],
    [{ ...whole, where: { id: Symbol('id') } }, 'where.id'],
    [{ ...whole, where: 'id = 1' }, 'where'],
    [{ ...whole, where: [1] }, 'where'],
  ] as const)
    for (const update of [updateFencedPg, updateFencedMysql])
      expect(await failure(update(client as never, wrong as never)), argument).toMatchObject({
        code: 'INVALID_ARGUMENT',
        argument,
      })
})

test('MySQL gets a prepared statement, and a client that cannot prepare one is refused', async () => {
  const asked: unknown[] = []
  const client: MysqlLike = {
    execute: async (statement, values) => {
      asked.push(statement.sql, values)
      return [{ affectedRows: 1 }, undefined]
    },
  }
  await updateFencedMysql(client, { table: 'a.b', where: { id: 7 }, set: { n: 1 }, token: 5n })
  expect(asked).toEqual([
    'UPDATE `a`.`b` SET `n` = ?, `fence` = CAST(? AS SIGNED) WHERE `id` = ? AND `fence` <= CAST(? AS SIGNED)',
    [1, '5', '7', '5'],
  ])
  const update = { table: 'b', where: { id: 7 }, set: {}, token: 5n }
  expect(await failure(updateFencedMysql({} as never, update))).toMatchObject({ argument: 'client' })
})
