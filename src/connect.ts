import type { LocksOptions } from './core/api.ts'
import { checkOptions } from './core/check.ts'
import { LOCKS_OPTIONS } from './core/option-names.ts'
import { callTimeoutOf } from './core/options.ts'
import { answeredWithin, LateError, nodeRuntime } from './core/runtime.ts'
import type { Store } from './core/store.ts'
import { InvalidArgumentError, UnsupportedError, unreachable } from './errors.ts'
import { type Locks, toolkit } from './toolkit.ts'

/** Opens a store, or rejects after the call timeout. */
type Open = (url: string, callTimeoutMs: number) => Promise<Store>

/** A store's code and its client library are loaded only when its scheme is used. */
const SCHEMES: Record<string, Open> = {
  'memory:': openMemory,
  'sqlite:': openSqlite,
  'file:': openSqlite,
  'postgres:': openPostgres,
  'postgresql:': openPostgres,
  'mysql:': openMysql,
  'mariadb:': openMysql,
  'redis:': openRedis,
  'rediss:': openRedis,
  'redis+sentinel:': openSentinel,
  'rediss+sentinel:': openSentinel,
  'redis+cluster:': openCluster,
  'rediss+cluster:': openCluster,
  'redlock:': openQuorum,
  'etcd:': openEtcd,
  'etcds:': openEtcd,
  'zookeeper:': openZooKeeper,
  'zookeeper+tls:': openZooKeeper,
}

/** Locks over the store that a URL names. */
export async function connect(url: string, options: Omit<LocksOptions, 'store'> = {}): Promise<Locks> {
  checkOptions('options', options, LOCKS_OPTIONS)
  if ((options as LocksOptions).store !== undefined)
    throw new InvalidArgumentError('store', 'must be left out: the URL names the store')
  const scheme = typeof url === 'string' ? (/^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase() ?? '') : ''
  if (scheme === 'http:' || scheme === 'https:')
    throw new UnsupportedError('a Holdfast server is not available yet')
  const open = SCHEMES[scheme]
  if (open === undefined) {
    const known = Object.keys(SCHEMES).join(' ')
    throw new InvalidArgumentError(
      'url',
      `must begin with one of ${known}${scheme === '' ? '' : `, not ${scheme}`}`,
    )
  }
  const store = await open(url, callTimeoutOf(options.callTimeout))
  try {
    return toolkit(store, options)
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openMemory(url: string): Promise<Store> {
  // A name would suggest that other users of it saw the same locks.
  if (!/^memory:(?:\/\/)?$/i.test(url))
    throw new InvalidArgumentError('url', 'must be memory: and nothing else: every such store is its own')
  const { memory } = await import('./stores/memory/index.ts')
  return memory()
}

async function openSqlite(url: string): Promise<Store> {
  const { sqlite } = await import('./stores/sqlite/index.ts')
  const { sqliteOptionsOf } = await import('./stores/sqlite/url.ts')
  return sqlite(sqliteOptionsOf(url))
}

async function openPostgres(url: string, callTimeoutMs: number): Promise<Store> {
  const { openPostgres: open } = await import('./stores/sql-server/postgres/open.ts')
  return open(url, callTimeoutMs)
}

async function openSentinel(url: string, callTimeoutMs: number): Promise<Store> {
  const { openSentinel: open } = await import('./stores/redis/open-sentinel.ts')
  return open(url, callTimeoutMs)
}

async function openCluster(url: string, callTimeoutMs: number): Promise<Store> {
  const { openCluster: open } = await import('./stores/redis/open-cluster.ts')
  return open(url, callTimeoutMs)
}

async function openMysql(url: string, callTimeoutMs: number): Promise<Store> {
  const { openMysql: open } = await import('./stores/sql-server/mysql/open.ts')
  return open(url, callTimeoutMs)
}

async function openRedis(url: string, callTimeoutMs: number): Promise<Store> {
  const { openRedis: open } = await import('./stores/redis/open.ts')
  return open(url, callTimeoutMs)
}

async function openQuorum(url: string, callTimeoutMs: number): Promise<Store> {
  const { openQuorum: open } = await import('./stores/quorum/open.ts')
  return open(url, callTimeoutMs)
}

async function openEtcd(url: string, callTimeoutMs: number): Promise<Store> {
  const { openEtcd: open } = await import('./stores/etcd/open.ts')
  return open(url, callTimeoutMs)
}

async function openZooKeeper(url: string, callTimeoutMs: number): Promise<Store> {
  const { openZooKeeper: open } = await import('./stores/zookeeper/open.ts')
  const opening = open(url)
  try {
    return await answeredWithin(opening, callTimeoutMs, nodeRuntime)
  } catch (error) {
    // A store that opens later has no owner to close it.
    opening.then((store) => store.close()).catch(() => {})
    if (!(error instanceof LateError)) throw error
    const { addressOf } = await import('./stores/zookeeper/url.ts')
    const servers = addressOf(url).servers.map(({ host, port }) => `${host}:${port}`)
    throw unreachable(`ZooKeeper at ${servers.join(', ')}`, error)
  }
}
