import type { StoreNotice } from '../../src/core/store.ts'
import type { Claim } from '../../src/model/index.ts'
import type { Call } from './plan.ts'
import type { Fail } from './violation.ts'

/** Checks the calls of one `Locks` object, claim by claim: a released claim is over, a doubtful one is cleaned up. */
export class ProtocolChecker {
  private readonly fail: Fail
  private readonly released = new Set<string>()
  private readonly leased = new Set<string>()
  /** Claims with an attempt whose outcome the client does not know. */
  private readonly doubtful = new Set<string>()
  /** Claims that leave a key closed when they expire. */
  private readonly delaying = new Set<string>()

  constructor(fail: Fail) {
    this.fail = fail
  }

  sent(call: Call, claims: readonly Claim[]): void {
    for (const { id, key, lockDelayMs } of claims) {
      if (lockDelayMs > 0) this.delaying.add(id)
      if (call === 'release') {
        this.released.add(id)
        this.doubtful.delete(id)
      } else if (call === 'attempt') {
        if (!this.leased.has(id)) this.doubtful.add(id)
      } else if (this.released.has(id)) {
        this.fail('sent after release', `${key}: a renewal of ${id} was sent after its release`)
      }
    }
  }

  /** An answer ends the doubt, unless the claim had been given up before: then only a release does. */
  answered(claims: readonly Claim[]): void {
    for (const { id } of claims) if (!this.released.has(id)) this.doubtful.delete(id)
  }

  /** User code got a lease: how that ends is no longer a matter of the attempt. */
  had(id: string): void {
    this.leased.add(id)
    this.doubtful.delete(id)
  }

  /**
   * The store said that the claim is over, so there is nothing left to release. One with a lock delay that was granted may also be
   * left to expire, which is what closes the key.
   */
  told(notice: StoreNotice): void {
    const over = notice.kind === 'lost' && notice.cause !== 'expired'
    if (over || (notice.kind === 'granted' && this.delaying.has(notice.id))) this.doubtful.delete(notice.id)
  }

  /** Called when nothing more will be sent. */
  closed(): void {
    for (const id of this.doubtful) {
      this.fail(
        'unknown attempt left',
        `the outcome of an attempt of ${id} stayed unknown and it was never released`,
      )
    }
  }
}
