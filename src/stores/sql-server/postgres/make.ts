import { checkRuntime } from '../../../core/check.ts'
import { show } from '../../../core/durations.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { AdvisoryStore } from '../advisory/store.ts'
import type { Patience } from '../patience.ts'
import { Mail } from '../tables/mail.ts'
import { tableNames } from '../tables/names.ts'
import { ServerStore } from '../tables/store.ts'
import { PostgresSessions } from './advisory.ts'
import type { PostgresClient } from './clients/client.ts'
import { PostgresDatabase } from './database.ts'
import type { PostgresOptions } from './index.ts'
import { mailTable } from './mail.ts'
import { PostgresPush, UNHEARD } from './push.ts'
import { traitsOf } from './traits.ts'

/** What only a table needs is refused, so that nobody believes it to be in force. */
export function advisoryOver(
  client: PostgresClient,
  options: PostgresOptions,
  patience: Patience,
): AdvisoryStore {
  for (const name of ['table', 'durability', 'listen'] as const)
    if (options[name] !== undefined) throw new InvalidArgumentError(name, 'means nothing for advisory locks')
  return new AdvisoryStore(new PostgresSessions(client, patience), checkRuntime(options.runtime), patience)
}

export function storeOver(
  client: PostgresClient,
  listener: PostgresClient | null,
  options: PostgresOptions,
  patience: Patience,
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
    push:
      listener === null
        ? new Mail(mail, UNHEARD + runtime.newId(), runtime)
        : new PostgresPush(client, listener, mail, runtime, patience),
    runtime,
    patience,
    close: () => client.close(),
  })
}
