import type { StoreName } from '../expectations.ts'
import { cluster } from './cluster.ts'
import { etcd } from './etcd.ts'
import { mysql } from './mysql.ts'
import { postgres } from './postgres.ts'
import { quorum } from './quorum.ts'
import { redis } from './redis.ts'
import { sentinel } from './sentinel.ts'
import { sqlite } from './sqlite.ts'
import type { StartWorld } from './world.ts'
import { zookeeper } from './zookeeper.ts'

export const WORLDS: Record<StoreName, StartWorld> = {
  ...{ redis, sentinel, cluster, quorum },
  ...{ etcd, zookeeper, postgres, mysql, sqlite },
}
