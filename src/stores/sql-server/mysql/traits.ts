import type { Traits } from '../../../core/store.ts'

export const TRAITS: Traits = {
  name: 'mysql',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'fifo',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: true,
  owners: true,
  lockDelay: true,
  groups: true,
  records: true,
  wakeUp: 'poll',
  immediate: false,
  scope: 'every process that reaches the same MariaDB or MySQL database',
  failover:
    'a restart or a crash of the server keeps all holds; a failover to an asynchronous replica, or a server that does not wait for the disk, may forget the last grants, renewals and releases; a jump of the server clock shortens or prolongs holds; tokens rise all the same, unless the clock falls behind by more than the time since the last grant',
}
