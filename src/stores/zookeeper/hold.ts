import { type Granted, SPARE_TOKENS } from '../../model/index.ts'
import { both } from './client/client.ts'
import type { LockSession } from './client/lock-session.ts'
import type { Stat } from './client/protocol.ts'
import { tokenFrom } from './format.ts'
import type { LocalClaim, OwnNode } from './local-claims.ts'

const NOT_ASKED = Promise.resolve(undefined)

/** Notes the grant, and returns it. */
export function grant(local: LocalClaim, sentAtMs: number): Granted {
  local.hold('held', sentAtMs + local.claim.ttlMs)
  return granted(local)
}

/** A hold that several claims may share has no spare tokens. */
export function granted({ claim: { owner }, node, contended }: LocalClaim): Granted {
  const token = tokenFrom((node as OwnNode).position.founder)
  return { kind: 'granted', token, spare: owner === null ? SPARE_TOKENS : 0, contended }
}

/**
 * True if a majority confirms the claim's node: a partitioned server may believe in a session that is over. A watch on the
 * node replaces the read, because the server would have reported its end before it answered.
 */
export async function prove(local: LocalClaim, sentAtMs: number): Promise<boolean> {
  const session = local.session as LockSession
  const { path } = local.node as OwnNode
  const asked = isWatched(local) ? NOT_ASKED : session.client.exists(path)
  const [, stat] = await both<unknown, Stat | null | undefined>(session.barrier(), asked)
  const known = stat === undefined && !isWatched(local) ? await session.client.exists(path) : stat
  const isThere = known !== null
  if (isThere) local.provenUntilMs = sentAtMs + local.claim.ttlMs
  return isThere && local.phase !== 'over'
}

function isWatched({ nodeArmed, session, keyPath, node }: LocalClaim): boolean {
  return nodeArmed || session?.snapshotOf(keyPath)?.isArmed((node as OwnNode).name) === true
}
