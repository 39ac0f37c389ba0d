import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Soon,
  Store,
  StoreNotice,
  Traits,
} from '../../core/store.ts'
import { StoreError } from '../../errors.ts'
import type { Claim } from '../../model/index.ts'
import type { ChannelListener, RedisClient, Subscription, Topology } from './clients/client.ts'
import type { ReplicaSettings } from './options.ts'
import { SCRIPTS } from './scripts.generated.ts'

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

  subscribe(listener: ChannelListener): Subscription {
    return this.client.subscribe(listener)
  }

  close(): Promise<void> {
    return this.client.close()
  }
}

/** A store whose grants and renewals count only when replicas have them. */
export class ReplicatedStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records: Records | null
  readonly partOf?: (key: string) => string
  readonly claimsPerCall?: number
  private readonly store: Store

  /** `store` must use a `ConfirmingClient`, or one for each server. */
  constructor(store: Store, wait: number) {
    this.store = store
    this.admin = store.admin
    this.records = store.records
    const { partOf, claimsPerCall } = store
    if (partOf !== undefined) this.partOf = partOf
    if (claimsPerCall !== undefined) this.claimsPerCall = claimsPerCall
    const copies = wait === 1 ? 'one replica' : `${wait} replicas`
    const failover = `a failover keeps a hold if one of the ${copies} that had it is promoted; else ${store.traits.failover}`
    this.traits = { ...store.traits, failover }
  }

  /** A claim that did not reach the replicas is released, with its position in the queue. */
  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    try {
      const answers = await this.store.attempt(claims)
      const unmet = claims.filter((_, index) => isUnmet(answers[index]))
      if (unmet.length > 0) await this.takeBack(unmet)
      return answers
    } catch (error) {
      if (error instanceof UnmetError) await this.takeBack(claims)
      throw error
    }
  }

  /** A renewal that did not reach the replicas is unknown: the lease ends at its old deadline unless the next one does. */
  renew(claims: readonly Claim[]): Soon<readonly RenewReply[]> {
    return this.store.renew(claims)
  }

  release(claims: readonly Claim[]): Soon<readonly ReleaseReply[]> {
    return this.store.release(claims)
  }

  /** A pushed grant may have reached no replica: `lifeMs` 0 makes the waiter re-attempt, and WAIT confirms that. */
  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.store.notices((notice) =>
      listener(notice.kind === 'granted' ? { ...notice, lifeMs: 0 } : notice),
    )
  }

  close(): Soon<void> {
    return this.store.close()
  }

  /** If the release fails, too, the holds end with their ttl, and the core releases them by id. */
  private async takeBack(claims: readonly Claim[]): Promise<void> {
    try {
      await this.store.release(claims)
    } catch {
      // The error that is thrown already says that the outcome is unknown.
    }
  }
}

function isUnmet(answer: ClaimReply | undefined): boolean {
  return answer?.kind === 'unknown' && answer.error instanceof UnmetError
}
