import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeRuntime } from '../../src/core/runtime.ts'
import type { Store, Traits } from '../../src/core/store.ts'
import { etcd } from '../../src/stores/etcd/index.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { QuorumStore } from '../../src/stores/quorum/store.ts'
import type { Topology } from '../../src/stores/redis/clients/client.ts'
import { redisSettingsOf } from '../../src/stores/redis/options.ts'
import { RedisStore } from '../../src/stores/redis/store.ts'
import {
  advisoryOver as advisoryMysql,
  storeOver as mysqlStore,
} from '../../src/stores/sql-server/mysql/create.ts'
import {
  advisoryOver as advisoryPostgres,
  storeOver as postgresStore,
} from '../../src/stores/sql-server/postgres/create.ts'
import { StatementTimeout } from '../../src/stores/sql-server/statement-timeout.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { zookeeper } from '../../src/stores/zookeeper/index.ts'

const PATIENCE = new StatementTimeout(nodeRuntime)

/** How each store is opened, in the order of the documentation; `folder` is empty and will be removed. */
const STORES: readonly ((folder: string) => Store)[] = [
  () => memory(),
  (folder) => sqlite({ path: join(folder, 'locks.db') }),
  // A store says the same of itself whatever its server, so there need not be one.
  () => postgresStore(DATABASE, DATABASE, {}, PATIENCE),
  () => advisoryPostgres(DATABASE, {}, PATIENCE),
  () => mysqlStore(DATABASE, {}, PATIENCE),
  () => advisoryMysql(DATABASE, {}, PATIENCE),
  () => redisStore('single'),
  () => redisStore('sentinel'),
  () => redisStore('cluster'),
  () => new QuorumStore([], nodeRuntime, () => 1),
  // Connects when it is first used.
  () => zookeeper('zookeeper://127.0.0.1'),
  () => etcd({ endpoints: ['localhost:2379'] }),
]

/** The traits of all stores. */
export async function allTraits(): Promise<Traits[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
  try {
    const found: Traits[] = []
    for (const open of STORES) {
      const store = open(folder)
      found.push(store.traits)
      await store.close()
    }
    return found
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const DATABASE = {
  run: absent,
  script: absent,
  transaction: absent,
  listen: absent,
  session: absent,
  close: async () => {},
}

function redisStore(topology: Topology): Store {
  const none = { keyPrefix: '', cluster: null, send: absent, subscribe: absent, close: async () => {} }
  return new RedisStore({ topology, ...none }, redisSettingsOf({}))
}

function absent(): never {
  throw new Error('the documentation is written without a server')
}
