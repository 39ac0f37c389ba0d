import { checkRuntime } from '../../../core/check.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { AdvisoryStore } from '../advisory/store.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { PolledInbox } from '../tables/inbox.ts'
import { tableNames } from '../tables/names.ts'
import { ServerStore } from '../tables/store.ts'
import { MysqlSessions } from './advisory.ts'
import type { MysqlClient } from './clients/client.ts'
import { MysqlDatabase } from './database.ts'
import type { MysqlOptions } from './index.ts'
import { mailTable } from './mail.ts'
import { TRAITS } from './traits.ts'

/** What only a table needs is refused, so that nobody believes it to be in force. */
export function advisoryOver(
  client: MysqlClient,
  { table, runtime }: MysqlOptions,
  timeout: StatementTimeout,
): AdvisoryStore {
  if (table !== undefined) throw new InvalidArgumentError('table', 'means nothing for advisory locks')
  return new AdvisoryStore(new MysqlSessions(client, timeout), checkRuntime(runtime), timeout)
}

export function storeOver(
  client: MysqlClient,
  options: MysqlOptions,
  timeout: StatementTimeout,
): ServerStore {
  const { table = 'holdfast' } = options
  const names = tableNames(table, '`')
  const runtime = checkRuntime(options.runtime)
  return new ServerStore({
    traits: TRAITS,
    database: new MysqlDatabase(client, names),
    inbox: new PolledInbox(mailTable(names, client), runtime.newId(), runtime),
    runtime,
    timeout,
    close: () => client.close(),
  })
}
