import type { Timer } from '../../core/runtime.ts'
import { discard, type StoreContext } from './context.ts'
import { boundTo, present } from './guards.ts'
import { removal } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'

/** Ends claims whose time is up although their process lives: what keeps their lease alive are other claims. */
export class Expiry {
  private readonly context: StoreContext
  /** Keys that are closed for a while yet. */
  private readonly closing = new Set<Timer>()

  constructor(context: StoreContext) {
    this.context = context
  }

  /** Whether a key of ours is still closed by its lock delay. */
  get delaying(): boolean {
    return this.closing.size > 0
  }

  expire(local: LocalClaim): void {
    const { claims, tell } = this.context
    const { key, id } = local.claim
    const ended = this.end(local).finally(() => {
      if (claims.dying.get(id) === ended) claims.dying.delete(id)
      if (local.state === 'held') tell({ kind: 'lost', key, id, cause: 'expired' })
      else tell({ kind: 'retry', key, id })
    })
    claims.dying.set(id, ended)
  }

  close(): void {
    for (const timer of this.closing) timer.clear()
  }

  private async end(local: LocalClaim): Promise<void> {
    const { claim, name, lease, shutName } = local
    if (shutName !== null) this.openLater(local, shutName)
    // Another connection may have taken the claim over: then it is bound to another lease, and no business of ours.
    const compare = [present(local), boundTo(name, lease.id)]
    await discard(this.context, lease, compare, removal(claim, name)).catch(ignore)
  }

  private openLater({ claim, state, lease }: LocalClaim, shutName: string): void {
    const timer = this.context.runtime.setTimer(
      () => {
        this.closing.delete(timer)
        discard(this.context, lease, [], [{ kind: 'delete', key: shutName }]).catch(ignore)
      },
      state === 'held' ? claim.lockDelayMs : 0,
      true,
    )
    this.closing.add(timer)
  }
}

/** It ends with its lease. */
function ignore(): void {}
