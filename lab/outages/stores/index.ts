import type { World } from '../world.ts'
import { etcd, zookeeper } from './consensus.ts'
import { mysql, postgres } from './databases.ts'
import { cluster, nodeRedis, quorum, redis, sentinel } from './redis.ts'
import { sqlite } from './sqlite.ts'

export const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  sqlite,
  redis,
  'node-redis': nodeRedis,
  sentinel,
  cluster,
  quorum,
  etcd,
  zookeeper,
  postgres,
  mysql,
}
