import type { Traits } from '../../../core/store.ts'

export const PLAIN_TRAITS: Traits = {
  name: 'redis-plain',
  modes: ['exclusive'],
  order: 'race',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: false,
  lockDelay: false,
  groups: false,
  records: true,
  wakeUp: 'push',
  immediate: false,
  scope:
    'every process that reaches the same Redis or Valkey server, also with other libraries that use SET NX PX on the same key',
  failover:
    'a restart without persistence, an eviction or a flush ends holds unnoticed, and a jump of the server clock shortens or prolongs them; tokens rise all the same, unless the clock falls behind by more than the time since the last grant; holders with other libraries have no tokens',
}
