import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect, createLocks } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { memory, memoryWorld } from 'holdfast/memory'
import { mysql } from 'holdfast/mysql'
import { postgres } from 'holdfast/postgres'
import { quorum } from 'holdfast/quorum'
import { redis } from 'holdfast/redis'
import { sqlite } from 'holdfast/sqlite'
import { zookeeper } from 'holdfast/zookeeper'
import { OLDER } from './older.ts'

/** The part of the package that the benchmarks use; another build can take its place. */
export interface Library {
  readonly connect: typeof connect
  readonly createLocks: typeof createLocks
  readonly etcd: typeof etcd
  readonly memory: typeof memory
  readonly memoryWorld: typeof memoryWorld
  readonly mysql: typeof mysql
  readonly postgres: typeof postgres
  readonly quorum: typeof quorum
  readonly redis: typeof redis
  readonly sqlite: typeof sqlite
  readonly zookeeper: typeof zookeeper
}

export const CURRENT: Library = {
  connect,
  createLocks,
  etcd,
  memory,
  memoryWorld,
  mysql,
  postgres,
  quorum,
  redis,
  sqlite,
  zookeeper,
}

const MODULES = ['index', 'etcd', 'memory', 'mysql', 'postgres', 'quorum', 'redis', 'sqlite', 'zookeeper']

/** The older build that takes part in this run; throws when none does. */
export async function older(): Promise<Library> {
  if (OLDER === null) throw new Error('no older build takes part')
  const { folder } = OLDER
  const modules = await Promise.all(
    MODULES.map((name) => import(pathToFileURL(join(folder, 'dist', `${name}.js`)).href)),
  )
  return Object.assign({}, ...modules) as Library
}
