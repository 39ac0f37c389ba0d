import { StoreError } from '../../../errors.ts'
import type { RedisClient, Subscription, Topology } from '../clients/client.ts'
import type { ReplicaSettings } from '../options.ts'
import { SCRIPTS } from '../scripts.generated.ts'

/** The write has not reached enough replicas in time. */
export class UnmetError extends StoreError {}

const WRITING = [SCRIPTS.attempt, SCRIPTS.renew, SCRIPTS.plainAttempt, SCRIPTS.plainRenew]
const CONFIRMED = new Set<unknown>(WRITING.flatMap(({ sha, source }) => [sha, source]))

/**
 * A client that answers a claim or a renewal only when enough replicas have it. WAIT follows the script in the same turn and so on
 * the same connection: it counts only the writes of its own connection.
 */
export class ConfirmingClient implements RedisClient {
  readonly topology: Topology
  readonly cluster = null
  readonly keyPrefix: string
  private readonly client: RedisClient
  private readonly settings: ReplicaSettings

  constructor(client: RedisClient, settings: ReplicaSettings) {
    this.client = client
    this.topology = client.topology
    this.settings = settings
    this.keyPrefix = client.keyPrefix
  }

  send(command: string, args: readonly string[]): Promise<unknown> {
    const answer = this.client.send(command, args)
    if (!CONFIRMED.has(args[0])) return answer
    const { wait, timeoutMs } = this.settings
    const reached = this.client.send('WAIT', [String(wait), String(timeoutMs)])
    reached.catch(() => {})
    return answer.then(async (value) => {
      const count = Number(await reached)
      if (count >= wait) return value
      throw new UnmetError(
        `the claim reached ${count} of ${wait} replicas within ${timeoutMs} ms, so it does not count and is taken back`,
      )
    })
  }

  subscribe(
    channel: string,
    listener: (message: string) => void,
    up: () => void,
    down?: () => void,
  ): Subscription {
    return this.client.subscribe(channel, listener, up, down)
  }

  close(): Promise<void> {
    return this.client.close()
  }
}
