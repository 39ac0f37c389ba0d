import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from '../../../scripts/servers/redis.ts'
import { sleep } from './load.ts'

/** A replica of the server on that port, in step with it. */
export async function startReplica(port: number): Promise<RedisServer> {
  const replica = await startRedis({
    args: ['--replicaof', '127.0.0.1', String(port), '--repl-diskless-sync-delay', '0'],
  })
  const [source, copy] = [new Redis(port), new Redis(replica.port)]
  while (!(await copy.info('replication')).includes('master_link_status:up')) await sleep(10)
  while (!/slave0:.*state=online/.test(await source.info('replication'))) await sleep(10)
  source.disconnect()
  copy.disconnect()
  return replica
}
