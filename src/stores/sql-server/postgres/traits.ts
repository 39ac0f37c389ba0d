import type { Traits } from '../../../core/store.ts'

/** `wakeUp` depends on whether a connection can listen: behind a pooler it cannot. */
export function traitsOf(wakeUp: Traits['wakeUp'], relaxed: boolean): Traits {
  return {
    name: 'postgres',
    modes: ['exclusive', 'shared', 'permits'],
    order: 'fifo',
    fencing: 'until data loss',
    ttlStepMs: 1,
    adoption: true,
    owners: true,
    lockDelay: true,
    groups: true,
    records: true,
    wakeUp,
    immediate: false,
    scope: 'every process that reaches the same PostgreSQL database',
    failover: `a restart or a crash of the server keeps all holds${relaxed ? ' but those of the last moments' : ''}, and a crash may bring back one that was just released, for the rest of its ttl; a failover to an asynchronous replica may forget the last grants, renewals and releases; a jump of the server clock shortens or prolongs holds; tokens rise all the same, unless the clock falls behind by more than the time since the last grant`,
  }
}
