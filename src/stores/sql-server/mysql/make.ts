import { checkRuntime } from '../../../core/check.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { AdvisoryStore } from '../advisory/store.ts'
import type { Patience } from '../patience.ts'
import { Mail } from '../tables/mail.ts'
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
  patience: Patience,
): AdvisoryStore {
  if (table !== undefined) throw new InvalidArgumentError('table', 'means nothing for advisory locks')
  return new AdvisoryStore(new MysqlSessions(client, patience), checkRuntime(runtime), patience)
}

export function storeOver(client: MysqlClient, options: MysqlOptions, patience: Patience): ServerStore {
  const { table = 'holdfast' } = options
  const names = tableNames(table, '`')
  const runtime = checkRuntime(options.runtime)
  return new ServerStore({
    traits: TRAITS,
    database: new MysqlDatabase(client, names),
    push: new Mail(mailTable(names, client), runtime.newId(), runtime),
    runtime,
    patience,
    close: () => client.close(),
  })
}
