import { UnsupportedError } from '../../errors.ts'
import type { Claim, Mode } from '../../model/index.ts'

/** The version of everything that is written to etcd. Another one is refused, never guessed at. */
const FORMAT = 1

/** What is written under a claim's name, as JSON: whoever looks at it with etcdctl can read it. */
export interface ClaimValue {
  readonly format: typeof FORMAT
  /** `trying`: whether it holds or waits depends on what stood before it when it came. */
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
  /** The revision whose place in the order it has; its own creation without it. */
  readonly order?: number
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
  more: Pick<ClaimValue, 'granted' | 'seq' | 'order'> = {},
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

export function parseValue<V extends { readonly format: number }>(text: string): V {
  const value = JSON.parse(text) as V
  if (value.format !== FORMAT) {
    throw new UnsupportedError(
      'the key is kept in etcd in a format that this version of holdfast does not know: upgrade it in this process',
    )
  }
  return value
}

/** What keeps a key closed when the claim of the same id is gone without a release. */
interface DelayValue {
  readonly format: typeof FORMAT
  readonly lockDelayMs: number
}

export function delayText(lockDelayMs: number): string {
  const value: DelayValue = { format: FORMAT, lockDelayMs }
  return JSON.stringify(value)
}

/** What one process tells another about a claim of that other. */
export interface LetterValue {
  readonly format: typeof FORMAT
  readonly kind: 'contended' | 'revoked' | 'evicted' | 'adopted'
  readonly key: string
  readonly id: string
}

export function letterText(kind: LetterValue['kind'], key: string, id: string): string {
  const value: LetterValue = { format: FORMAT, kind, key, id }
  return JSON.stringify(value)
}
