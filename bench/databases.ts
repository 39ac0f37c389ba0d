import { createLocks, type Locks } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { startMariadb } from '../scripts/servers/mariadb.ts'
import { startPostgres } from '../scripts/servers/postgres.ts'
import type { Bench } from './context.ts'
import type { Result, Row, Size, Target } from './result.ts'
import { median } from './statistics.ts'

const KEYS = 100

/** Takes and gives back one key. */
type Pair = (key: string) => Promise<unknown>

interface Subjects {
  readonly name: string
  /** The two durable statements by themselves, through the same pool. */
  readonly bare: Pair
  readonly ours: Locks
  close(): Promise<void>
}

const NOTES = [
  'Every commit waits for the disk, except that a release on PostgreSQL does not (decision 0046). "Bare" is a conditional upsert and a conditional update through the same pool, both durable, and nothing else.',
  'One after the other: one key of its own, again and again. At once: a hundred keys taken and given back together.',
]

export const POSTGRES: Bench = { run: ({ size }) => benchDatabase(openPostgres, size) }
export const MYSQL: Bench = { run: ({ size }) => benchDatabase(openMariadb, size) }

async function benchDatabase(open: () => Promise<Subjects>, size: Size): Promise<Result> {
  const subjects = await open()
  const { name, bare, ours } = subjects
  const pairs: Record<string, Pair> = { bare, holdfast: (key) => ours.using(key, nothing) }
  const lastsMs = size === 'tiny' ? 20 : 1000
  const rounds = size === 'tiny' ? 1 : 5
  const rates = new Map<string, number[]>()
  try {
    for (const pair of Object.values(pairs)) await together(pair, lastsMs / 2)
    for (let round = 0; round < rounds; round++) {
      for (const subject of round % 2 === 0 ? ['bare', 'holdfast'] : ['holdfast', 'bare']) {
        const pair = pairs[subject] as Pair
        note(rates, `one after the other ${subject}`, await oneByOne(pair, lastsMs))
        note(rates, `${KEYS} keys at once ${subject}`, await together(pair, lastsMs))
      }
    }
  } finally {
    await subjects.close()
  }
  const rows: Row[] = []
  const targets: Target[] = []
  for (const [workload, atLeast] of [
    ['one after the other', 0.8],
    [`${KEYS} keys at once`, 2],
  ] as const) {
    const [own, others] = [rates.get(`${workload} holdfast`) ?? [], rates.get(`${workload} bare`) ?? []]
    const times = median(own.map((rate, round) => rate / (others[round] as number)))
    for (const [subject, all] of Object.entries({ bare: others, holdfast: own }))
      rows.push({ workload: `${name}, ${workload}`, subject, figures: { 'pairs per second': median(all) } })
    targets.push({
      what: `${name}, ${workload}: times the bare statements`,
      value: times,
      bound: { atLeast },
    })
  }
  return { notes: NOTES, rows, targets, overlaps: 0 }
}

async function oneByOne(pair: Pair, lastsMs: number): Promise<number> {
  const startMs = performance.now()
  let count = 0
  for (; performance.now() - startMs < lastsMs; count++) await pair('alone')
  return (count * 1000) / (performance.now() - startMs)
}

async function together(pair: Pair, lastsMs: number): Promise<number> {
  const startMs = performance.now()
  let count = 0
  for (; performance.now() - startMs < lastsMs; count += KEYS)
    await Promise.all(Array.from({ length: KEYS }, (_, key) => pair(`key ${key}`)))
  return (count * 1000) / (performance.now() - startMs)
}

async function openPostgres(): Promise<Subjects> {
  const server = await startPostgres({ durable: true })
  const pool = new pg.Pool({ connectionString: server.url })
  await pool.query(
    'CREATE TABLE bare (key text PRIMARY KEY, holder text, until timestamptz) WITH (fillfactor = 50)',
  )
  const take = `INSERT INTO bare VALUES ($1, $2, clock_timestamp() + interval '10 s') ON CONFLICT (key) DO UPDATE
    SET holder = excluded.holder, until = excluded.until WHERE bare.holder IS NULL OR bare.until < clock_timestamp()`
  const give = 'UPDATE bare SET holder = NULL WHERE key = $1 AND holder = $2'
  const ours = createLocks({ store: postgres(pool) })
  return {
    name: 'PostgreSQL',
    ours,
    bare: async (key) => {
      await pool.query({ name: 'take', text: take, values: [key, 'me'] })
      await pool.query({ name: 'give', text: give, values: [key, 'me'] })
    },
    close: async () => {
      await ours.close()
      await pool.end()
      await server.stop()
    },
  }
}

async function openMariadb(): Promise<Subjects> {
  const server = await startMariadb({ durable: true })
  const pool = mysql2.createPool(server.url)
  await pool.query(
    'CREATE TABLE bare (`key` VARBINARY(64) PRIMARY KEY, holder VARBINARY(64), until DATETIME(6))',
  )
  const free = 'holder IS NULL OR until < UTC_TIMESTAMP(6)'
  const take = `INSERT INTO bare VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL 10 SECOND) ON DUPLICATE KEY UPDATE
    until = IF(${free}, VALUES(until), until), holder = IF(${free}, VALUES(holder), holder)`
  const give = 'UPDATE bare SET holder = NULL WHERE `key` = ? AND holder = ?'
  const ours = createLocks({ store: mysql(pool) })
  return {
    name: 'MariaDB',
    ours,
    bare: async (key) => {
      await pool.query(take, [key, 'me'])
      await pool.query(give, [key, 'me'])
    },
    close: async () => {
      await ours.close()
      await pool.end()
      await server.stop()
    },
  }
}

function note(rates: Map<string, number[]>, name: string, rate: number): void {
  rates.set(name, [...(rates.get(name) ?? []), rate])
}

function nothing(): void {}
