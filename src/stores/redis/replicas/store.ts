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
} from '../../../core/store.ts'
import type { Claim } from '../../../model/index.ts'
import { UnmetError } from './confirming.ts'

/** A store whose grants and renewals count only once replicas have them. */
export class ReplicatedStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records: Records | null
  readonly partOf?: (key: string) => string
  readonly claimsPerCall?: number
  private readonly store: Store

  /** The store must stand on a `ConfirmingClient`, or on one for each server. */
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

  /** Nothing of a call that did not reach the replicas is kept, not even a place in the line. */
  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    try {
      const answers = await this.store.attempt(claims)
      const unmet = claims.filter((_, place) => isUnmet(answers[place]))
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

  /** A grant that was pushed may have reached no replica: without a life its claimant asks for it, and that is confirmed. */
  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.store.notices((notice) =>
      listener(notice.kind === 'granted' ? { ...notice, lifeMs: 0 } : notice),
    )
  }

  close(): Soon<void> {
    return this.store.close()
  }

  /** Should that fail, too, the holds end with their ttl, and the core releases them by their ids. */
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
