import type { Claim, Clock } from '../../../model/index.ts'
import type { ClaimRow } from '../tables/database.ts'
import { type KeyWrite, permitsOf } from '../tables/key-snapshot.ts'
import { neededMs } from '../tables/rows.ts'
import { encodeName, encodeNameOrNull } from '../tables/texts.ts'
import type { TxStep } from './atomically.ts'
import type { Value } from './clients/client.ts'
import type { KeyTexts } from './key-statements.ts'
import { bytes, orNull } from './rows.ts'

/** The statements that write one key. */
export function stepsOf(texts: KeyTexts, write: KeyWrite, { nowMs }: Clock): TxStep[] {
  const key = bytes(write.key)
  const { revision, seq, mode, holds, used, waiting, others, joined, closedUntilMs, forgetAtMs, holder } =
    write
  const how: Value[] = [orNull(mode?.kind ?? null), permitsOf(mode).limit]
  const sole = holderValues(holder)
  const row: TxStep =
    revision === null
      ? {
          text: texts.insert,
          values: [
            key,
            seq,
            ...how,
            holds,
            used,
            waiting,
            others,
            closedUntilMs,
            forgetAtMs,
            ...sole,
            joined,
          ],
        }
      : {
          text: texts.update,
          values: [
            seq,
            ...how,
            holds,
            used,
            waiting,
            others,
            joined,
            closedUntilMs,
            forgetAtMs,
            ...sole,
            key,
            revision,
          ],
          affects: 1,
        }
  const ids = (dead: boolean) =>
    write.gone.filter((one) => one.dead === dead).map(({ id }) => bytes(encodeName(id)))
  const [alive, dead] = [ids(false), ids(true)]
  return [
    row,
    ...(alive.length > 0
      ? [{ text: texts.remove(alive.length, false), values: [key, ...alive], affects: alive.length }]
      : []),
    // One that was renewed at the last moment makes all of it begin again.
    ...(dead.length > 0
      ? [{ text: texts.remove(dead.length, true), values: [key, ...dead, nowMs], affects: dead.length }]
      : []),
    ...write.put.map((claim) => ({
      text: texts.put(claim.isNew),
      values: claimValues(key, claim, claim.isNew ? joined : null),
    })),
  ]
}

function textsOf({
  owner,
  actor,
  label,
  meta,
  inbox,
}: Pick<ClaimRow, 'owner' | 'actor' | 'label' | 'meta' | 'inbox'>): Value[] {
  return [
    encodeNameOrNull(owner),
    encodeNameOrNull(actor),
    encodeName(label),
    encodeNameOrNull(meta),
    inbox,
  ].map(orNull)
}

export function freeClaim(claim: Claim, inbox: string | null): Value[] {
  const { limit, weight } = permitsOf(claim.mode)
  const head = [bytes(claim.key), bytes(encodeName(claim.id)), claim.ttlMs, neededMs(claim)]
  return [...head, bytes(claim.mode.kind), limit, weight, ...textsOf({ ...claim, inbox }), claim.lockDelayMs]
}

export function freeOne(claim: Claim, inbox: string | null): Value[] {
  const { limit, weight } = permitsOf(claim.mode)
  const head = [bytes(claim.key), bytes(claim.mode.kind), limit, weight, bytes(encodeName(claim.id)), weight]
  return [...head, ...textsOf({ ...claim, inbox }), claim.ttlMs, claim.lockDelayMs, neededMs(claim)]
}

function holderValues(holder: ClaimRow | null): Value[] {
  if (holder === null) return [null, 0, 0, null, null, null, null, null, 0, 0, 0]
  const { id, seq, mode, sinceMs, expiresAtMs, lockDelayMs } = holder
  return [
    bytes(encodeName(id)),
    seq,
    permitsOf(mode).weight,
    ...textsOf(holder),
    sinceMs,
    expiresAtMs,
    lockDelayMs,
  ]
}

/** `joined` is how many new waiters the step has, null for a claim that is there already. */
function claimValues(key: Buffer, claim: ClaimRow, joined: number | null): Value[] {
  const { id, state, ticket, mode, seq, sinceMs, expiresAtMs, ttlMs, lockDelayMs } = claim
  const { limit, weight } = permitsOf(mode)
  const place: Value[] = joined === null ? [ticket] : [ticket, key, joined]
  const head = [key, bytes(encodeName(id)), bytes(state), ...place, bytes(mode.kind), limit, weight, seq]
  return [...head, ...textsOf(claim), sinceMs, expiresAtMs, ttlMs, lockDelayMs]
}
