import { type Claim, type Mode, STRANGE_HOLDER } from '../../model/index.ts'

/** The version of all values. Values of another version are refused. */
const FORMAT = 2

/** The value of a claim: JSON, which an operator can read with etcdctl. */
export interface ClaimValue {
  readonly format: typeof FORMAT
  /** `trying`: a claim for permits that holds if the claims before it left enough permits when it arrived. */
  readonly state: 'held' | 'waiting' | 'trying'
  readonly label: string
  readonly ttlMs: number
  /** The start of the present state on the wall clock of its process: for operators only. */
  readonly sinceMs: number
  /** The inbox of its process. */
  readonly inbox: string
  /** Set if the transaction that wrote this value granted the hold. */
  readonly granted?: true
  /** The revision of the grant, once the key's own revisions no longer show it. */
  readonly seq?: number
  readonly queue?: boolean
  readonly limit?: number
  readonly weight?: number
  readonly owner?: string
  readonly actor?: string
  readonly meta?: string
  readonly lockDelayMs?: number
}

/** The value of a claim, without fields that have their default. */
export function claimValue(
  claim: Claim,
  inbox: string,
  state: ClaimValue['state'],
  sinceMs: number,
  more: Pick<ClaimValue, 'granted' | 'seq'> = {},
): ClaimValue {
  const { label, ttlMs, mode, owner, actor, meta, lockDelayMs, queue } = claim
  return {
    format: FORMAT,
    state,
    label,
    ttlMs,
    sinceMs,
    inbox,
    ...more,
    ...(queue && state !== 'held' && { queue }),
    ...(mode.kind === 'permits' && { limit: mode.limit, weight: mode.weight }),
    ...(owner !== null && { owner }),
    ...(actor !== null && { actor }),
    ...(meta !== null && { meta }),
    ...(lockDelayMs > 0 && { lockDelayMs }),
  }
}

export function modeOfValue(kind: Mode['kind'], { limit, weight }: ClaimValue): Mode {
  return kind === 'permits' ? { kind, limit: limit ?? 1, weight: weight ?? 1 } : { kind }
}

export const UNKNOWN_FORMAT =
  'the key is kept in etcd in a format that this version of holdfast does not know: use one version in all processes'

/** Null for a format that this version does not know. */
export function parseValue<V extends { readonly format: number }>(text: string): V | null {
  try {
    const value = JSON.parse(text) as V
    return value.format === FORMAT ? value : null
  } catch {
    return null
  }
}

/** The value assumed for a claim in another format: only its name shows its mode, and its create revision its order. */
export function foreignValue(state: ClaimValue['state']): ClaimValue {
  const most = Number.POSITIVE_INFINITY
  const unknown = { label: STRANGE_HOLDER.label, ttlMs: 0, sinceMs: 0, inbox: '' }
  return { format: FORMAT, state, ...unknown, limit: most, weight: most }
}

/** Keeps a key closed if the claim under the name `claim` is gone without a release. */
export interface ShutValue {
  readonly format: typeof FORMAT
  readonly lockDelayMs: number
  readonly claim: string
}

export function shutText(lockDelayMs: number, claim: string): string {
  const value: ShutValue = { format: FORMAT, lockDelayMs, claim }
  return JSON.stringify(value)
}

/** The position key of a claim in the queue, by mode and order. */
export interface PointerValue {
  readonly format: typeof FORMAT
  readonly mode: Mode['kind']
  readonly order: number
}

export function pointerText(mode: Mode['kind'], order: number): string {
  const value: PointerValue = { format: FORMAT, mode, order }
  return JSON.stringify(value)
}

/** A message to the process of a claim. */
export interface NotificationValue {
  readonly format: typeof FORMAT
  readonly kind: 'contended' | 'revoked' | 'evicted' | 'adopted'
  readonly key: string
  readonly id: string
}

export function notificationText(kind: NotificationValue['kind'], key: string, id: string): string {
  const value: NotificationValue = { format: FORMAT, kind, key, id }
  return JSON.stringify(value)
}
