import { createLocks, type Locks } from 'holdfast'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { startMariadb } from '../scripts/servers/mariadb.ts'
import { startPostgres } from '../scripts/servers/postgres.ts'
import type { Bench } from './context.ts'
import { type DatabaseName, LEASE, SUBJECTS, type Subject, VERROU } from './databases/subjects.ts'
import { OLDER_NAMES, olderTargets, timesOlder } from './older.ts'
import { peerVersions } from './peers.ts'
import type { Result, Row, Size, Target } from './result.ts'
import { median } from './statistics.ts'

const KEYS = 100

/** Takes and gives back one key. */
type Pair = (key: string) => Promise<unknown>

interface Subjects {
  readonly name: DatabaseName
  readonly url: string
  /** The two durable statements by themselves, through the same pool. */
  readonly bare: Pair
  readonly ours: Locks
  close(): Promise<void>
}

const BARE = 'bare'
const RATE = 'pairs per second'
const PACKAGES = ['@verrou/core', 'knex', 'kysely']
const FULL = { rounds: 20, warmUps: 20, lastsMs: 250 }
const TINY = { rounds: 1, warmUps: 0, lastsMs: 20 }

const WORKLOADS = {
  'one after the other': { measure: oneByOne, timesBare: 0.8 },
  [`${KEYS} keys at once`]: { measure: together, timesBare: 2 },
} as const

const NOTES = [
  'Every commit waits for the disk, except that a release on PostgreSQL does not (decision 0046). "Bare" is a conditional upsert and a conditional update through the same pool, both durable, and nothing else.',
  'One after the other: one key of its own, again and again. At once: a hundred keys taken and given back together. Times are medians over rounds of all in turn.',
]

export const POSTGRES: Bench = { run: ({ size }) => benchDatabase(openPostgres, size) }
export const MYSQL: Bench = { run: ({ size }) => benchDatabase(openMariadb, size) }

async function benchDatabase(open: () => Promise<Subjects>, size: Size): Promise<Result> {
  const subjects = await open()
  const { name, url, bare, ours } = subjects
  // The other libraries are not installed for a look whether everything runs.
  const peers =
    size === 'tiny'
      ? []
      : await Promise.all(VERROU.map((peer) => SUBJECTS[name][peer]!(url, { place: 0, places: 1 })))
  const olders = await Promise.all(
    OLDER_NAMES.map((name) => SUBJECTS[subjects.name][name]!(url, { place: 0, places: 1 })),
  )
  const pairs: Record<string, Pair> = {
    [BARE]: bare,
    [LEASE]: (key) => ours.using(key, nothing),
    ...Object.fromEntries(olders.map((older, place) => [OLDER_NAMES[place], pairOf(older)])),
    ...Object.fromEntries(peers.map((peer, place) => [VERROU[place], pairOf(peer)])),
  }
  // Many short rounds: how fast a disk is changes from one second to the next. The first ones do not count: a process that takes
  // locks lives for longer than its code needs to be compiled.
  const { rounds, warmUps, lastsMs } = size === 'tiny' ? TINY : FULL
  const rates: Rates = new Map()
  try {
    for (const pair of Object.values(pairs)) await together(pair, lastsMs)
    for (const [workload, { measure }] of Object.entries(WORKLOADS)) {
      for (let round = -warmUps; round < rounds; round++) {
        const inTurn = Object.entries(pairs)
        for (const [subject, pair] of round % 2 === 0 ? inTurn : inTurn.reverse()) {
          const rate = await measure(pair, lastsMs)
          if (round >= 0) note(rates, workload, subject, rate)
        }
      }
    }
  } finally {
    await Promise.all([...olders, ...peers].map((other) => other.close()))
    await subjects.close()
  }
  const versions = Object.entries(peerVersions()).filter(([peer]) => PACKAGES.includes(peer))
  return { ...judged(name, rates), notes: NOTES, overlaps: 0, versions: Object.fromEntries(versions) }
}

/** By workload, by subject: what each round brought. */
type Rates = Map<string, Map<string, number[]>>

function judged(name: DatabaseName, rates: Rates): Pick<Result, 'rows' | 'targets'> {
  const rows: Row[] = []
  const targets: Target[] = []
  for (const [workload, { timesBare }] of Object.entries(WORKLOADS)) {
    const bySubject = rates.get(workload) ?? new Map<string, number[]>()
    const title = `${name}, ${workload}`
    for (const [subject, all] of bySubject)
      rows.push({
        workload: title,
        subject,
        figures: { [RATE]: median(all), ...timesOlder(bySubject, subject, (rate) => rate) },
      })
    const times = (others: readonly number[]) =>
      median((bySubject.get(LEASE) ?? []).map((rate, round) => rate / (others[round] as number)))
    targets.push({
      what: `${title}: times the bare statements`,
      value: times(bySubject.get(BARE) ?? []),
      bound: { atLeast: timesBare },
    })
    if (VERROU.every((peer) => bySubject.has(peer)))
      targets.push({
        what: `${title}: times the best of verrou`,
        value: Math.min(...VERROU.map((peer) => times(bySubject.get(peer) ?? []))),
        bound: { atLeast: 1 },
      })
  }
  return { rows, targets: [...targets, ...olderTargets(rows, LEASE)] }
}

function pairOf(peer: Subject): Pair {
  return (key) => peer.run(key, async () => {})
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
    url: server.url,
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
    url: server.url,
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

function note(rates: Rates, workload: string, subject: string, rate: number): void {
  const bySubject = rates.get(workload) ?? new Map<string, number[]>()
  bySubject.set(subject, [...(bySubject.get(subject) ?? []), rate])
  rates.set(workload, bySubject)
}

function nothing(): void {}
