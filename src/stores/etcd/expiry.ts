import { discard, type StoreContext } from './context.ts'
import { boundTo, present } from './guards.ts'
import { removal } from './hold.ts'
import type { LocalClaim } from './local-claims.ts'

/** Ends a claim whose time is up although its process lives: other claims keep its lease alive. */
export function expire(context: StoreContext, local: LocalClaim): void {
  const { claims, tell } = context
  const { key, id } = local.claim
  const ended = end(context, local).finally(() => {
    if (claims.dying.get(id) === ended) claims.dying.delete(id)
    if (local.state === 'held') tell({ kind: 'lost', key, id, cause: 'expired' })
    else tell({ kind: 'retry', key, id })
  })
  claims.dying.set(id, ended)
}

async function end(context: StoreContext, local: LocalClaim): Promise<void> {
  const { claim, name, lease, shutName } = local
  if (shutName !== null) openLater(context, local, shutName)
  // If another connection has taken the claim over, it is bound to another lease and stays.
  const compare = [present(local), boundTo(name, lease.id)]
  await discard(context, lease, compare, removal(claim, name)).catch(ignore)
}

/** Deletes the `shut` key when the lock delay is over. */
function openLater(context: StoreContext, { claim, state, lease }: LocalClaim, shutName: string): void {
  const { delays, runtime } = context
  const open = (): void => {
    delays.delete(timer)
    discard(context, lease, [], [{ kind: 'delete', key: shutName }]).catch(ignore)
  }
  const timer = runtime.setTimer(open, state === 'held' ? claim.lockDelayMs : 0, true)
  delays.add(timer)
}

/** The key ends with its lease. */
function ignore(): void {}
