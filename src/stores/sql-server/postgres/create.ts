import { checkRuntime } from '../../../core/check.ts'
import { show } from '../../../core/durations.ts'
import { InvalidArgumentError } from '../../../errors.ts'
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
import { mailTable } from './mail.ts'
import { traitsOf } from './traits.ts'

/** What only a table needs is refused, so that nobody believes it to be in force. */
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
  const mail = mailTable(names, client)
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
