import type { Traits } from '../../core/store.ts'

export const QUORUM_TRAITS: Traits = {
  name: 'quorum',
  modes: ['exclusive', 'shared', 'permits'],
  order: 'race',
  fencing: 'until data loss',
  ttlStepMs: 1,
  adoption: false,
  owners: true,
  lockDelay: true,
  groups: false,
  records: false,
  wakeUp: 'push',
  immediate: true,
  scope: 'every process that reaches a majority of the same independent Redis or Valkey servers',
  failover:
    'a minority of the servers may be stopped, cut off or gone; one that comes back empty before the leases it voted for have ended can let a second holder in, and so can a jump of a server clock; tokens rise all the same, as long as one server of each majority keeps its data or the clocks do not fall behind',
}
