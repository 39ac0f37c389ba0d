import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import mysql2 from 'mysql2/promise'
import pg from 'pg'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { startMariadb } from '../../../scripts/servers/mariadb.ts'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import { startRedis } from '../../../scripts/servers/redis.ts'
import { nodeRuntime, type Runtime } from '../../../src/core/runtime.ts'
import type { Store } from '../../../src/core/store.ts'
import type { FindingCode } from '../../../src/index.ts'
import { claimName } from '../../../src/stores/etcd/names.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import { redis } from '../../../src/stores/redis/index.ts'
import { mysql } from '../../../src/stores/sql-server/mysql/index.ts'
import { postgres } from '../../../src/stores/sql-server/postgres/index.ts'
import { openSqlite } from '../../../src/stores/sqlite/open.ts'

/** A real store whose server can be made sick. */
export interface Ward {
  readonly url: string
  /** A store over a client of its own, which ends with it. */
  store(runtime?: Runtime): Store
  /** The ailments that only this server can have. */
  readonly plants: readonly Plant[]
  /** The pattern under which a foreign lock was planted; null where there are none. */
  readonly foreign: string | null
  /** Uses the planted foreign lock, as its program would. */
  use?(): Promise<unknown>
  /** Which sicknesses the server cannot have, and why. */
  readonly immune: Partial<Record<FindingCode, string>>
  stop(): Promise<void>
}

export interface Plant {
  readonly code: FindingCode
  /** The required text of the evidence. */
  readonly shows: RegExp
  plant(): Promise<void>
}

/** Everything is as ever, but the wall clock is an hour ahead. */
export const HOUR_AHEAD: Runtime = { ...nodeRuntime, wallMs: () => nodeRuntime.wallMs() + 3_600_000 }

/** The label of a process of this host that has ended. */
export function goneLabel(): string {
  return `${hostname()}:${spawnSync('true').pid}`
}

export async function redisWard(): Promise<Ward> {
  const server = await startRedis({ persistent: true })
  const tool = new Redis(server.url)
  return {
    url: server.url,
    store: (runtime) => ended(new Redis(server.url), (client) => redis(client, runtime && { runtime })),
    foreign: 'lock:*',
    use: () => tool.set('lock:theirs', '2'),
    immune: { ORPHAN_BLOCKS: 'a lock that is dead blocks nobody: every claim counts its time' },
    plants: [
      plant('FOREIGN_NO_TTL', /^lock:theirs: a string without a ttl/, () => tool.set('lock:theirs', '1')),
      plant('ORPHAN', /^holdfast:units:\{gone\}: a part of a stock/, () =>
        tool.rpush('holdfast:units:{gone}', 'x'),
      ),
      plant('ORPHAN', /^holdfast:state:\{kept\}: .*never forgets/, () =>
        tool.hset('holdfast:state:{kept}', { format: '2', seq: '7' }),
      ),
      plant('STORE_AT_RISK', /allkeys-lru/, () => tool.config('SET', 'maxmemory-policy', 'allkeys-lru')),
      plant('STORE_AT_RISK', /keeps nothing over a restart/, async () => {
        await tool.config('SET', 'appendonly', 'no')
        await tool.config('SET', 'save', '')
      }),
    ],
    stop: async () => {
      tool.disconnect()
      await server.stop()
    },
  }
}

export async function postgresWard(): Promise<Ward> {
  const server = await startPostgres({ durable: true })
  const tool = new pg.Client(server.url)
  await tool.connect()
  const stranger = new pg.Client({ connectionString: server.url, application_name: 'old-cron' })
  await stranger.connect()
  for (const client of [tool, stranger]) client.on('error', () => {})
  return {
    url: server.url,
    store: (runtime) => {
      const pool = new pg.Pool({ connectionString: server.url, max: 4 })
      pool.on('error', () => {})
      return ended(pool, (client) => postgres(client, runtime && { runtime }))
    },
    foreign: 'advisory:*',
    use: () => stranger.query('SELECT 1'),
    immune: { ORPHAN_BLOCKS: 'a row that is dead blocks nobody: every claim counts its time' },
    plants: [
      plant('FOREIGN_NO_TTL', /^advisory:0:4711: an advisory lock of session \d+ \(old-cron\)/, () =>
        stranger.query('SELECT pg_advisory_lock(4711)'),
      ),
      plant('ORPHAN', /^holdfast_records: 2 times rows/, () =>
        tool.query(
          `INSERT INTO holdfast_records (key, revision, version, value, expires_at, forget_at)
           VALUES ('old', 1, 1, NULL, NULL, 1), ('older', 1, 1, NULL, NULL, 1)`,
        ),
      ),
      plant('STORE_AT_RISK', /synchronous_commit switched off/, () =>
        tool.query('ALTER DATABASE postgres SET synchronous_commit = off'),
      ),
    ],
    stop: async () => {
      await Promise.all([tool.end(), stranger.end()])
      await server.stop()
    },
  }
}

export async function mysqlWard(): Promise<Ward> {
  const server = await startMariadb({ durable: true })
  const tool = await mysql2.createConnection(server.url)
  return {
    url: server.url,
    store: (runtime) =>
      ended(mysql2.createPool({ uri: server.url, connectionLimit: 4 }), (pool) =>
        mysql(pool, runtime && { runtime }),
      ),
    foreign: null,
    immune: {
      FOREIGN_NO_TTL: 'the database does not say who has which GET_LOCK',
      ORPHAN_BLOCKS: 'a row that is dead blocks nobody: every claim counts its time',
    },
    plants: [
      plant('ORPHAN', /^holdfast_records: 2 times rows/, () =>
        tool.query(
          `INSERT INTO holdfast_records (\`key\`, revision, version, value, expires_at, forget_at)
           VALUES ('old', 1, 1, NULL, NULL, 1), ('older', 1, 1, NULL, NULL, 1)`,
        ),
      ),
      plant('STORE_AT_RISK', /innodb_flush_log_at_trx_commit is not 1/, () =>
        tool.query('SET GLOBAL innodb_flush_log_at_trx_commit = 2'),
      ),
    ],
    stop: async () => {
      await tool.end()
      await server.stop()
    },
  }
}

export async function sqliteWard(): Promise<Ward> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'))
  const path = join(folder, 'locks.db')
  return {
    url: `sqlite:${path}`,
    store: (runtime) => openSqlite({ path }, runtime && { runtime }),
    foreign: null,
    immune: {
      FOREIGN_NO_TTL: 'nobody but Holdfast writes to its file',
      ORPHAN_BLOCKS: 'a row that is dead blocks nobody: every claim counts its time',
      STORE_AT_RISK: 'there is no server, and the store sets the file up itself whenever it opens it',
    },
    plants: [],
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

export async function etcdWard(): Promise<Ward> {
  const cluster = await startEtcd({ members: 1 })
  const tool = createStore({ endpoints: cluster.endpoints })
  const put = (key: string, value: string) =>
    tool.client.txn({ compare: [], success: [{ kind: 'put', key, value }], failure: [] })
  return {
    url: cluster.url,
    store: (runtime) => createStore({ endpoints: cluster.endpoints, ...(runtime && { runtime }) }),
    foreign: 'locks/*',
    use: () => put('locks/theirs', '2'),
    immune: {
      ORPHAN: 'whatever is dead goes with its lease',
      STORE_AT_RISK:
        'etcd writes every entry through to the disks of a majority, and does not tell its settings',
    },
    plants: [
      plant('FOREIGN_NO_TTL', /^locks\/theirs: a key that is bound to no lease/, () =>
        put('locks/theirs', '1'),
      ),
      plant('ORPHAN_BLOCKS', /a claim on "stray" that is bound to no lease/, () => {
        const value = {
          format: 2,
          state: 'held',
          label: 'x',
          ttlMs: 1,
          sinceMs: Date.now(),
          inbox: 'x',
          granted: true,
        }
        return put(claimName('stray', 'hold', 'exclusive', 'x'), JSON.stringify(value))
      }),
    ],
    stop: async () => {
      await tool.close()
      await cluster.stop()
    },
  }
}

function plant(code: FindingCode, shows: RegExp, act: () => Promise<unknown>): Plant {
  return { code, shows, plant: async () => void (await act()) }
}

/** Closes the client, which stays the caller's, with its store. */
function ended<C extends { quit(): Promise<unknown> } | { end(): Promise<unknown> }>(
  client: C,
  storeOf: (client: C) => Store,
): Store {
  const store = storeOf(client)
  const close = store.close.bind(store)
  store.close = async () => {
    await close()
    await ('quit' in client ? client.quit() : client.end())
  }
  return store
}
