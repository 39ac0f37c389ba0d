import type { Traits } from '../../core/store.ts'
import type { Topology } from './clients/client.ts'

const COMMON = {
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'push',
  immediate: false,
} as const

const TOKENS =
  'tokens rise all the same, unless the clock falls behind by more than the time since the last grant'

export const REDIS_TRAITS: Record<Topology, Traits> = {
  single: {
    ...COMMON,
    name: 'redis',
    scope: 'every process that reaches the same Redis or Valkey server',
    failover: `a restart without persistence, an eviction or a flush ends holds unnoticed, and a jump of the server clock shortens or prolongs them; ${TOKENS}`,
  },
  sentinel: {
    ...COMMON,
    name: 'redis+sentinel',
    scope: 'every process that reaches the same Sentinel group',
    failover: `replication is asynchronous, so a failover may forget the last grants, renewals and releases: a key may be granted again while its old lease is still valid, for at most that lease's ttl, as may a master that is cut off from its sentinels; otherwise as \`redis\`, with the clock of the new master`,
  },
  cluster: {
    ...COMMON,
    name: 'redis+cluster',
    groups: 'hash tag',
    scope: 'every process that reaches the same Redis or Valkey cluster',
    failover: `as \`redis+sentinel\`, for the keys of the master that failed alone; the other keys notice nothing, and a slot that moves takes its locks with it`,
  },
}
