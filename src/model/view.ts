import { tokenOf } from './token.ts'
import type { KeyState, Mode } from './types.ts'

/** A holder as an operator sees it. Ids are never shown: they are the proof of ownership. */
export interface HolderView {
  readonly label: string
  readonly owner: string | null
  readonly actor: string | null
  readonly mode: Mode['kind']
  readonly weight: number
  readonly token: bigint | null
  /** Null for a holder of another program, or of another version of Holdfast. */
  readonly heldMs: number | null
  /** Null for a holder of another program without an expiry. */
  readonly expiresInMs: number | null
  readonly meta: string | null
}

/** A waiter as an operator sees it. */
export interface WaiterView {
  readonly label: string
  readonly owner: string | null
  readonly actor: string | null
  readonly mode: Mode['kind']
  readonly weight: number
  readonly waitedMs: number
  /** How long each renewal keeps its position; a live waiter renews well before that. */
  readonly ttlMs: number
  readonly expiresInMs: number
  readonly meta: string | null
}

/** The public record of a key; a free key has an empty one. */
export interface KeyView {
  readonly key: string
  readonly holders: readonly HolderView[]
  readonly queue: readonly WaiterView[]
  /** The highest token granted so far, null when none is remembered. */
  readonly token: bigint | null
  /** The limit of a semaphore in use, else null. */
  readonly limit: number | null
  /** How long the key stays closed after an expiry with a lock delay. */
  readonly closedForMs: number
}

export function viewOf(key: string, state: KeyState, nowMs: number): KeyView {
  const mode = state.holds[0]?.mode ?? state.queue[0]?.claim.mode
  return {
    key,
    holders: state.holds.flatMap((hold) =>
      hold.members.map((member) => ({
        label: member.label,
        owner: hold.owner,
        actor: member.actor,
        mode: hold.mode.kind,
        weight: weightOf(hold.mode),
        token: tokenOf(hold.seq),
        heldMs: nowMs - member.sinceMs,
        expiresInMs: member.expiresAtMs - nowMs,
        meta: member.meta,
      })),
    ),
    queue: state.queue.map(({ claim, joinedAtMs, expiresAtMs }) => ({
      label: claim.label,
      owner: claim.owner,
      actor: claim.actor,
      mode: claim.mode.kind,
      weight: weightOf(claim.mode),
      waitedMs: nowMs - joinedAtMs,
      ttlMs: claim.ttlMs,
      expiresInMs: expiresAtMs - nowMs,
      meta: claim.meta,
    })),
    token: state.seq === 0 ? null : tokenOf(state.seq),
    limit: mode?.kind === 'permits' ? mode.limit : null,
    closedForMs: Math.max(0, state.closedUntilMs - nowMs),
  }
}

/** The time at which the last claim on the key ends; null for a key without claims. */
export function lastLifeMs({ holds, queue, closedUntilMs }: KeyState): number | null {
  const claims = [...holds.flatMap(({ members }) => members), ...queue]
  if (claims.length === 0) return null
  return Math.max(closedUntilMs, ...claims.map(({ expiresAtMs }) => expiresAtMs))
}

/** A holder of another version of Holdfast: its format is not known, so nothing more can be shown. */
export const STRANGE_HOLDER: HolderView = {
  label: 'another version of Holdfast',
  owner: null,
  actor: null,
  mode: 'exclusive',
  weight: 1,
  token: null,
  heldMs: null,
  expiresInMs: 0,
  meta: null,
}

/** A listed key in a format of another version: it must not hide the others. */
export function strangeView(key: string): KeyView {
  return { key, holders: [STRANGE_HOLDER], queue: [], token: null, limit: null, closedForMs: 0 }
}

export function isInUse(view: KeyView): boolean {
  return view.holders.length > 0 || view.queue.length > 0
}

function weightOf(mode: Mode): number {
  return mode.kind === 'permits' ? mode.weight : 1
}
