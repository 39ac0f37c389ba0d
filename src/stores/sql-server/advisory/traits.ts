import type { Traits } from '../../../core/store.ts'

/** What is true of the locks of any session; `survives` is what may outlive a process that stands still. */
export function sessionTraits(
  { name, modes, scope }: Pick<Traits, 'name' | 'modes' | 'scope'>,
  survives = '',
): Traits {
  return {
    name,
    modes,
    order: 'race',
    fencing: 'none',
    ttlStepMs: 1,
    adoption: false,
    owners: false,
    lockDelay: false,
    groups: false,
    records: false,
    wakeUp: 'poll',
    // The rounds of the store collect what comes up while a statement is under way.
    immediate: true,
    session: true,
    scope,
    failover: `a lock ends with the connection that holds it, so a restart, a crash or a failover of the server and a connection that is cut end all holds of a process at once, and it learns that a moment after others may have the keys; a process that stands still keeps its locks for the longest ttl that it asked for, at least 5 s${survives}`,
  }
}
