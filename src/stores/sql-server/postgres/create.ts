import { checkRuntime } from '../../../core/check.ts'
import { show } from '../../../core/durations.ts'
import type { Traits } from '../../../core/store.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { FULL_TRAITS } from '../../shared/sql.ts'

import { AdvisoryStore } from '../advisory/store.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { PolledInbox } from '../tables/inbox.ts'
import { tableNames } from '../tables/names.ts'
import { ServerStore } from '../tables/store.ts'
import { PostgresSessions } from './advisory.ts'
import type { PostgresClient } from './clients/client.ts'
import { PostgresDatabase } from './database.ts'
import { POLLED, PostgresInbox } from './inbox.ts'
import type { PostgresOptions } from './index.ts'
import { inboxTable } from './records.ts'

/** Refuses options that only tables have: in silence they would seem to be in force. */
export function advisoryOver(
  client: PostgresClient,
  options: PostgresOptions,
  timeout: StatementTimeout,
): AdvisoryStore {
  for (const name of ['table', 'durability', 'listen'] as const)
    if (options[name] !== undefined) throw new InvalidArgumentError(name, 'means nothing for advisory locks')
  return new AdvisoryStore(new PostgresSessions(client, timeout), checkRuntime(options.runtime), timeout)
}

export function storeOver(
  client: PostgresClient,
  listener: PostgresClient | null,
  options: PostgresOptions,
  timeout: StatementTimeout,
): ServerStore {
  const { table = 'holdfast', durability = 'full' } = options
  const runtime = checkRuntime(options.runtime)
  if (durability !== 'full' && durability !== 'relaxed')
    throw new InvalidArgumentError('durability', `must be 'full' or 'relaxed', not ${show(durability)}`)
  const relaxed = durability === 'relaxed'
  const names = tableNames(table, '"')
  const mail = inboxTable(names, client)
  return new ServerStore({
    traits: traitsOf(listener === null ? 'poll' : 'push', relaxed),
    database: new PostgresDatabase(client, names, relaxed),
    inbox:
      listener === null
        ? new PolledInbox(mail, POLLED + runtime.newId(), runtime)
        : new PostgresInbox(client, listener, mail, runtime, timeout),
    runtime,
    timeout,
    close: () => client.close(),
  })
}

/** Behind a pooler no connection can listen, so waiters poll. */
function traitsOf(wakeUp: Traits['wakeUp'], relaxed: boolean): Traits {
  return {
    ...FULL_TRAITS,
    name: 'postgres',
    wakeUp,
    scope: 'every process that reaches the same PostgreSQL database',
    failover: `a restart or a crash of the server keeps all holds${relaxed ? ' but those of the last moments' : ''}, and a crash may bring back one that was just released, for the rest of its ttl; a failover to an asynchronous replica may forget the last grants, renewals and releases; a jump of the server clock shortens or prolongs holds; tokens rise all the same, unless the clock falls behind by more than the time since the last grant`,
  }
}
