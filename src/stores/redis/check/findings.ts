import type { StoreWarning } from '../../../core/store.ts'
import type { Facts } from './facts.ts'

/** Tokens are stamped by the server's clock, and it may be corrected one day. */
const CLOCK_LIMIT_MS = 10_000
const OLDEST_MAJOR = 7
/** Of maxmemory; the server itself counts a little less than it shows. */
const FULL = 0.98

/** Facts of a server that endanger locks, each with a fix. */
export function findingsOf(facts: Facts, replicasToWaitFor: number): StoreWarning[] {
  const found = [
    memory(facts),
    eviction(facts),
    persistence(facts),
    replication(facts, replicasToWaitFor),
    version(facts),
    clock(facts),
  ]
  return found.filter((warning) => warning !== null)
}

function memory({ port, memoryUsed, evictionPolicy }: Facts): StoreWarning | null {
  if (memoryUsed === null || memoryUsed < FULL || evictionPolicy !== 'noeviction') return null
  const percent = Math.floor(memoryUsed * 100)
  return warning(
    'MEMORY',
    `the memory of the Redis server on port ${port} is full (${percent} % of maxmemory is in use): it refuses new locks and records, and only renewals and releases go through; raise maxmemory, or remove what fills it`,
    `redis-cli -p ${port} memory stats   # then: config set maxmemory <more>`,
  )
}

function eviction({ port, evictionPolicy: policy }: Facts): StoreWarning | null {
  if (policy === null || policy === 'noeviction') return null
  return warning(
    'EVICTION',
    `the Redis server on port ${port} may evict locks when its memory is full (maxmemory-policy is ${policy}): set maxmemory-policy to noeviction, or keep locks on a server of their own`,
    `redis-cli -p ${port} config set maxmemory-policy noeviction && redis-cli -p ${port} config rewrite`,
  )
}

function persistence({ port, persistent }: Facts): StoreWarning | null {
  if (persistent !== false) return null
  return warning(
    'PERSISTENCE',
    `the Redis server on port ${port} keeps nothing over a restart, so a restart ends every lock while its holder is still at work: switch appendonly on, or wait for the longest ttl before a restarted server is used again`,
    `redis-cli -p ${port} config set appendonly yes && redis-cli -p ${port} config rewrite`,
  )
}

function replication({ port, replicas }: Facts, wait: number): StoreWarning | null {
  if (replicas === null) return null
  if (replicas > 0 && wait === 0) {
    const have = replicas === 1 ? 'a replica' : `${replicas} replicas`
    return warning(
      'REPLICAS',
      `the Redis server on port ${port} has ${have}, and a failover loses the locks that were not copied yet: set replicas: { wait: 1 }, or check fencing tokens where it matters`,
      `connect('redis://…?replicas=1')   # or redis(client, { replicas: { wait: 1 } })`,
    )
  }
  if (replicas >= wait) return null
  return warning(
    'REPLICAS',
    `the Redis server on port ${port} has fewer replicas (${replicas}) than each lock waits for (${wait}), so that no lock can be had: connect the replicas, or lower replicas.wait`,
    `redis-cli -p ${port} info replication   # why they are not connected`,
  )
}

function version({ port, version: text, isValkey }: Facts): StoreWarning | null {
  if (text === null || isValkey || !(Number.parseInt(text, 10) < OLDEST_MAJOR)) return null
  return warning(
    'VERSION',
    `the server on port ${port} is Redis ${text}, which gets no more fixes and cannot run all scripts of Holdfast: upgrade to Redis ${OLDEST_MAJOR} or newer, or to Valkey`,
    `redis-cli -p ${port} info server   # then upgrade it`,
  )
}

function clock({ port, clockAheadMs }: Facts): StoreWarning | null {
  if (clockAheadMs === null || Math.abs(clockAheadMs) <= CLOCK_LIMIT_MS) return null
  const side = clockAheadMs > 0 ? 'ahead of' : 'behind'
  const seconds = Math.round(Math.abs(clockAheadMs) / 1000)
  return warning(
    'CLOCK',
    `the clock of the Redis server on port ${port} is ${seconds} s ${side} the one of this machine: locks end early or late when it is corrected, so correct it now and keep it in step (NTP)`,
  )
}

function warning(code: string, message: string, fix?: string): StoreWarning {
  const told = { kind: 'warning', id: '', key: '', code: `HOLDFAST_REDIS_${code}`, message } as const
  return fix === undefined ? told : { ...told, fix }
}
