import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startMariadb } from '../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { Bench } from './support/command.ts'

const bench = new Bench()
const LONG_MS = 60_000

async function queryPostgres(url: string, text: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(text)
  await client.end()
}

async function queryMysql(url: string, text: string): Promise<void> {
  const client = await mysql2.createConnection(url)
  await client.query(text)
  await client.end()
}

describe.each([
  ['postgres', () => startPostgres(), queryPostgres],
  ['mysql', () => startMariadb(), queryMysql],
])('migrate on %s', (_, start, query) => {
  let server: Awaited<ReturnType<typeof start>>
  beforeAll(async () => {
    server = await start()
  }, LONG_MS)
  afterAll(() => server?.stop())

  it('says which tables it made, and the next time that they are there', async () => {
    const tables = 'shop_meta, shop_keys, shop_claims, shop_records'
    const args = ['migrate', '--store', server.url, '--table', 'shop']
    const first = await bench.holdfast(args)
    expect(first).toMatchObject({ code: 0, stdout: `made the tables ${tables}\n`, stderr: '' })
    const second = await bench.holdfast(args)
    expect(second).toMatchObject({
      code: 0,
      stdout: `nothing to do, the tables are there already: ${tables}\n`,
      stderr: '',
    })
    const url = `${server.url}?table=other`
    const json = await bench.holdfast(['migrate', '--json'], { HOLDFAST_STORE: url })
    expect(JSON.parse(json.stdout)).toEqual({
      made: true,
      tables: ['other_meta', 'other_keys', 'other_claims', 'other_records'],
    })
    const again = await bench.holdfast(['migrate', '--json'], { HOLDFAST_STORE: url })
    expect(JSON.parse(again.stdout).made).toBe(false)
  })

  it('is advised with the store of --store for tables of an older version', async () => {
    const url = `${server.url}?table=older`
    await bench.holdfast(['migrate', '--store', url])
    await query(server.url, `UPDATE older_meta SET value = '1' WHERE name = 'format'`)
    const { code, stderr } = await bench.holdfast(['ls', '--store', url])
    expect(code).toBe(64)
    expect(stderr).toMatch(/^holdfast: the database holds locks in format 1, /)
    expect(stderr.endsWith(`then run holdfast migrate --store '${url}'\n`), stderr).toBe(true)
  })
})

it('ends with 69 when the database cannot be reached, and repeats no password', async () => {
  const url = 'postgres://user:c4nary-p4ssword@127.0.0.1:1/shop'
  const { code, stdout, stderr } = await bench.holdfast(['migrate', '--store', url])
  expect([code, stdout]).toEqual([69, ''])
  expect(stderr).not.toContain('c4nary')
})
