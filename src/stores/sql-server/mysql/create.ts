import { checkRuntime } from '../../../core/check.ts'
import type { Traits } from '../../../core/store.ts'
import { InvalidArgumentError } from '../../../errors.ts'
import { FULL_TRAITS } from '../../shared/sql.ts'

import { AdvisoryStore } from '../advisory/store.ts'
import type { StatementTimeout } from '../statement-timeout.ts'
import { PolledInbox } from '../tables/inbox.ts'
import { tableNames } from '../tables/names.ts'
import { ServerStore } from '../tables/store.ts'
import { MysqlSessions } from './advisory.ts'
import type { MysqlClient } from './clients/client.ts'
import { MysqlDatabase } from './database.ts'
import type { MysqlOptions } from './index.ts'
import { inboxTable } from './records.ts'

const TRAITS: Traits = {
  ...FULL_TRAITS,
  name: 'mysql',
  wakeUp: 'poll',
  scope: 'every process that reaches the same MariaDB or MySQL database',
  failover:
    'a restart or a crash of the server keeps all holds; a failover to an asynchronous replica, or a server that does not wait for the disk, may forget the last grants, renewals and releases; a jump of the server clock shortens or prolongs holds; tokens rise all the same, unless the clock falls behind by more than the time since the last grant',
}

/** Refuses options that only tables have: in silence they would seem to be in force. */
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
    inbox: new PolledInbox(inboxTable(names, client), runtime.newId(), runtime),
    runtime,
    timeout,
    close: () => client.close(),
  })
}
