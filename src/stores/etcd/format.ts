import { type Claim, type Mode, STRANGE_HOLDER } from '../../model/index.ts'

/** The version of everything that is written to etcd. Another one is refused, never guessed at. */
const FORMAT = 2

/** What is written under a claim's name, as JSON: whoever looks at it with etcdctl can read it. */
export interface ClaimValue {
  readonly format: typeof FORMAT
  /** `trying`: permits; whether the claim holds depends on what stood before it when it came. */
  readonly state: 'held' | 'waiting' | 'trying'
  readonly label: string
  readonly ttlMs: number
  /** When it came into its present state, on its own process's wall clock: shown to operators, decides nothing. */
  readonly sinceMs: number
  /** Where its process hears what others tell it. */
  readonly inbox: string
  /** Set for a hold that was granted by the transaction that wrote this. */
  readonly granted?: true
  /** The revision of the grant, once it cannot be told from the key itself any more. */
  readonly seq?: number
  readonly queue?: boolean
  readonly limit?: number
  readonly weight?: number
  readonly owner?: string
  readonly actor?: string
  readonly meta?: string
  readonly lockDelayMs?: number
}

/** What a claim tells about itself. What has its default is left out. */
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

export function modeOf(kind: Mode['kind'], { limit, weight }: ClaimValue): Mode {
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

/** What counts as the value of a claim in another format: its name alone tells its mode, and its creation its place. */
export function strangeValue(state: ClaimValue['state']): ClaimValue {
  const most = Number.POSITIVE_INFINITY
  const told = { label: STRANGE_HOLDER.label, ttlMs: 0, sinceMs: 0, inbox: '' }
  return { format: FORMAT, state, ...told, limit: most, weight: most }
}

/** What keeps a key closed when the claim under that name is gone without a release. */
export interface ShutValue {
  readonly format: typeof FORMAT
  readonly lockDelayMs: number
  readonly claim: string
}

export function shutText(lockDelayMs: number, claim: string): string {
  const value: ShutValue = { format: FORMAT, lockDelayMs, claim }
  return JSON.stringify(value)
}

/** Where in the queue the claim of an id is. */
export interface PointerValue {
  readonly format: typeof FORMAT
  readonly mode: Mode['kind']
  readonly order: number
}

export function pointerText(mode: Mode['kind'], order: number): string {
  const value: PointerValue = { format: FORMAT, mode, order }
  return JSON.stringify(value)
}

/** What one process tells another about a claim of that other. */
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
