import type { Store } from '../../core/store.ts'
import { UnsupportedError } from '../../errors.ts'
import { ServerCheck } from './check/check.ts'
import type { RedisClient } from './clients/client.ts'
import { ReplacingClient } from './clients/replacing.ts'
import { type RedisSettings, silentMsOf } from './options.ts'
import { PlainStore } from './plain/store.ts'
import { ConfirmingClient, ReplicatedStore } from './replicas.ts'
import { RedisStore } from './store.ts'

/** The store that the settings ask for, over any client. */
export function createRedisStore(client: RedisClient, settings: RedisSettings): Store {
  const { format, replicas, check, runtime } = settings
  if (client.cluster !== null && format === 'plain')
    throw new UnsupportedError("format 'plain' is not supported on a cluster")
  // The client of a cluster waits for the replicas of each master by itself.
  const lasting =
    client.fresh === undefined ? client : new ReplacingClient(client, runtime, silentMsOf(settings))
  const own = replicas === null || client.cluster !== null ? lasting : new ConfirmingClient(lasting, replicas)
  const wait = replicas?.wait ?? 0
  const basic = format === 'plain' ? new PlainStore(own, settings) : new RedisStore(own, settings)
  const store = replicas === null ? basic : new ReplicatedStore(basic, wait)
  return check ? new ServerCheck(lasting, runtime, wait).attachTo(store) : store
}
