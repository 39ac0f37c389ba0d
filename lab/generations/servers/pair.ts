import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerAddress } from '../environments.ts'
import { WireConnection } from '../wire/connection.ts'
import { ReplicationLink } from './link.ts'
import { OwnServer } from './own.ts'

/** A primary and its replica. */
export interface Pair {
  readonly primary: ServerAddress
  readonly replica: ServerAddress
  /** From now on the replica hears nothing. */
  stall(): void
  /** Ends the primary at once. */
  crash(): Promise<void>
  /** Makes a primary of the replica, as a failover does. */
  promote(): Promise<void>
  close(): Promise<void>
}

/** Two servers of the lab's own. */
export async function startPair(addressOf: (url: string) => ServerAddress): Promise<Pair> {
  const primary = await OwnServer.start('--repl-diskless-sync-delay', '0')
  const link = await ReplicationLink.to(primary.port)
  const replica = await OwnServer.start('--replicaof', '127.0.0.1', String(link.port))
  const console = await WireConnection.open(replica.url)
  while (!String(await console.call('INFO', 'replication')).includes('master_link_status:up')) await sleep(20)
  return {
    primary: addressOf(primary.url),
    replica: addressOf(replica.url),
    stall: () => link.stall(),
    crash: () => primary.crash(),
    promote: async () => void (await console.call('REPLICAOF', 'NO', 'ONE')),
    async close() {
      console.close()
      link.close()
      await Promise.all([primary.stop(), replica.stop()])
    },
  }
}
