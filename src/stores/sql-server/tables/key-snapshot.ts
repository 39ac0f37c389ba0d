import {
  type Blocked,
  type Clock,
  changesOf,
  type HeldClaim,
  heldClaims,
  type KeyChanges,
  type KeyState,
  type Mode,
  type QueuedClaim,
  stateOfPartialKey,
} from '../../../model/index.ts'
import { FORGET_SLACK_MS, SQL_RULES } from '../../shared/sql.ts'

import type { ClaimRow, KeyRow, KeySnapshot, ReadRequest, RowChange } from './database.ts'
import { decodeName } from './rows.ts'

/** Bounds of one read; claims beyond them count as alive and are left to the next step. */
export const MOST_DEAD = 100
export const MOST_OF_OWNERS = 200
/** The positions of so many waiters are exact. */
export const HEADS = 3
/** As many waiters as one step admits, and one more that shows whether others wait. */
export const ALL_HEADS = SQL_RULES.mostOffers + 1

/** A waiter with its ticket, which steps do not change; a new waiter has none yet. */
interface Ticketed extends QueuedClaim {
  readonly ticket?: number
}

const NO_KEY: KeyRow = {
  revision: 0,
  seq: 0,
  mode: null,
  holds: 0,
  used: 0,
  waiting: 0,
  others: 0,
  closedUntilMs: 0,
  holder: null,
  forgetAtMs: 0,
}

/** The rows of a key as a state for the model; `row` is null for a key without a row. */
export function keySnapshotOf(
  key: string,
  row: KeyRow | null,
  rows: readonly ClaimRow[],
  { owners, heads }: Pick<ReadRequest, 'owners' | 'heads'>,
  { nowMs }: Clock,
): KeySnapshot {
  const found = row ?? NO_KEY
  const claims = new Map(rows.map((claim) => [claim.id, claim]))
  const all = [...claims.values()]
  const held = all.filter(({ state }) => state === 'held').sort((a, b) => a.seq - b.seq)
  const queue = all.filter(({ state }) => state === 'waiting').sort((a, b) => a.ticket - b.ticket)
  const first = queue.filter(({ expiresAtMs }) => expiresAtMs > nowMs).slice(0, heads)
  const alive = held.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
  const gone = held.filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
  const ofOwners = all.filter(({ owner }) => owner !== null && owners.includes(owner)).length
  const unseen = new Set(ofOwners >= MOST_OF_OWNERS ? owners : [])
  const holders = [...(found.holder === null ? [] : [found.holder]), ...alive, ...gone]
  const state = stateOfPartialKey({
    seq: found.seq,
    seqKeptUntilMs: found.forgetAtMs,
    closedUntilMs: found.closedUntilMs,
    mode: found.mode,
    holds: found.holds,
    used: found.used,
    held: holders.map(heldOf),
    queue: queue.map((claim) => waiterOf(key, claim)),
    unseen,
  })
  return { row: found, claims, state, heads: new Set(first.map(({ id }) => id)) }
}

/** Owners whose other claims have to be read too: a hold ends only with the last claim of its owner. */
export function missingOwners(
  { row, state }: KeySnapshot,
  { ids, owners }: ReadRequest,
  { nowMs }: Clock,
): string[] {
  const missing = new Set<string>()
  for (const { id, owner, expiresAtMs } of heldClaims(state).values())
    if (owner !== null && (expiresAtMs <= nowMs || ids.includes(id))) missing.add(owner)
  for (const { claim } of state.queue) if (claim.owner !== null) missing.add(claim.owner)
  for (const owner of owners) missing.delete(owner)
  return row.others === 0 ? [] : [...missing]
}

/** True if a step used up the head of the queue that was read, and more claims wait behind it. */
export function needsMoreHeads({ before, state }: RowChange<KeySnapshot, KeyState>): boolean {
  if (before === undefined || before.heads.size === 0) return false
  if (before.row.waiting <= before.state.queue.length) return false
  return !state.queue.some(({ claim }) => before.heads.has(claim.id))
}

/** The position of a waiter: exact near the head, an upper bound further back. */
export function positionInQueue(seen: KeySnapshot | undefined, state: KeyState, id: string): number {
  const index = state.queue.findIndex(({ claim }) => claim.id === id)
  if (index < 0 || seen === undefined || seen.row.waiting <= seen.state.queue.length) return index + 1
  const all = seen.row.waiting + state.queue.length - seen.state.queue.length
  const { ticket } = state.queue[index] as Ticketed
  if (ticket === undefined) return all - (state.queue.length - 1 - index)
  if (seen.heads.has(id)) return index + 1
  const first = (state.queue[0] as Ticketed).ticket ?? ticket
  return Math.max(index + 1, Math.min(ticket - first + 1, all))
}

/** The same from a ticket and the first tickets of its queue. */
export function positionOfTicket(ticket: number, heads: readonly number[]): number {
  const index = heads.findIndex((head) => head >= ticket)
  if (index >= 0) return index + 1
  return Math.max(heads.length + 1, ticket - (heads[0] ?? ticket) + 1)
}

/** The answer to a claim that has joined a queue; `holder` is any known holder. */
export function positionOfJoined(
  {
    waiting,
    holder,
  }: { waiting: number; holder: { label: string; sinceMs: number; expiresAtMs: number } | null },
  { nowMs }: Clock,
): Blocked {
  return {
    kind: 'blocked',
    position: waiting,
    retryAfterMs: holder === null ? null : Math.max(0, holder.expiresAtMs - nowMs),
    storeTimeMs: nowMs,
    holder: holder === null ? null : { label: decodeName(holder.label), heldMs: nowMs - holder.sinceMs },
  }
}

/** The changes to one key. Numbers of claims are differences, because claims may join the queue meanwhile. */
export interface KeyWrite {
  readonly key: string
  /** Null for a key without a row. */
  readonly revision: number | null
  readonly seq: number
  readonly mode: Mode | null
  readonly holds: number
  readonly used: number
  readonly waiting: number
  readonly others: number
  readonly joined: number
  readonly closedUntilMs: number
  readonly holder: ClaimRow | null
  readonly forgetAtMs: number
  /** The ticket of a new waiter is its number among the new ones, from 0 on. */
  readonly put: readonly (ClaimRow & { readonly isNew: boolean })[]
  readonly gone: readonly { readonly id: string; readonly dead: boolean }[]
}

export function writeOf(
  { key, before, state }: RowChange<KeySnapshot, KeyState>,
  { nowMs }: Clock,
): KeyWrite {
  const row = before?.row ?? NO_KEY
  const changes: KeyChanges =
    before === undefined
      ? changesOf({ ...state, holds: [], queue: [] }, state)
      : changesOf(before.state, state)
  const held = heldClaims(state)
  const kept = row.holder === null ? undefined : held.get(row.holder.id)
  const rows = before?.claims ?? new Map<string, ClaimRow>()
  const fresh = changes.held.find(({ id }) => !rows.has(id) && id !== row.holder?.id)
  const offered = changes.held.find(({ id }) => rows.get(id)?.state === 'waiting')
  const holder = kept ?? offered ?? fresh
  const put = changes.held
    .filter(({ id }) => id !== holder?.id)
    .map((claim) => rowOfHeld(claim, rows.get(claim.id)))
  let joined = 0
  const queued = changes.queued.map((waiter) => {
    const { ticket } = waiter as Ticketed
    return rowOfWaiter(waiter, ticket ?? joined++, ticket === undefined)
  })
  const gone = [...changes.gone, ...(holder !== undefined && holder !== kept ? [holder.id] : [])]
    .filter((id) => rows.has(id))
    .map((id) => ({ id, dead: isDead(rows.get(id) as ClaimRow, nowMs) }))
  const all = [...put, ...queued]
  const neededMs = Math.max(
    state.seqKeptUntilMs,
    state.closedUntilMs,
    ...[...changes.held].map((claim) => claim.expiresAtMs + claim.lockDelayMs),
    ...changes.queued.map(({ expiresAtMs }) => expiresAtMs),
  )
  return {
    key,
    revision: before === undefined || before.row === NO_KEY ? null : row.revision,
    seq: state.seq,
    mode: modeOf(state),
    holds: changes.holds,
    used: changes.used,
    waiting: changes.waiting,
    others: all.filter(({ id }) => !rows.has(id)).length - gone.length,
    joined,
    closedUntilMs: state.closedUntilMs,
    holder: holder === undefined ? null : rowOfHeld(holder),
    forgetAtMs: row.forgetAtMs >= neededMs ? row.forgetAtMs : neededMs + FORGET_SLACK_MS,
    put: all,
    gone,
  }
}

/** The limit and the weight of a permit; zeros for other modes. */
export function permitColumns(mode: Mode | null): { limit: number; weight: number } {
  return mode?.kind === 'permits' ? mode : { limit: 0, weight: 0 }
}

export function modeFrom(kind: string | null, limit: number, weight: number): Mode | null {
  if (kind === null) return null
  return kind === 'permits' ? { kind, limit, weight } : { kind: kind as 'exclusive' | 'shared' }
}

function modeOf({ holds, queue }: KeyState): Mode | null {
  return holds[0]?.mode ?? queue[0]?.claim.mode ?? null
}

function isDead({ expiresAtMs }: ClaimRow, nowMs: number): boolean {
  return expiresAtMs <= nowMs
}

function heldOf(claim: ClaimRow): HeldClaim {
  const { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox, owner, mode, seq } = claim
  return { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox, owner, mode, seq }
}

/** Only claims with `queue` wait, and never those of groups or adopters. */
function waiterOf(key: string, row: ClaimRow): Ticketed {
  const { id, mode, ttlMs, owner, actor, label, meta, lockDelayMs, inbox, sinceMs, expiresAtMs, ticket } = row
  return {
    claim: {
      key,
      id,
      mode,
      ttlMs,
      queue: true,
      owner,
      actor,
      label,
      meta,
      lockDelayMs,
      group: null,
      replaces: null,
    },
    inbox,
    joinedAtMs: sinceMs,
    expiresAtMs,
    ticket,
  }
}

function rowOfHeld(claim: HeldClaim, before?: ClaimRow): ClaimRow & { isNew: boolean } {
  const { id, expiresAtMs, sinceMs, label, actor, meta, lockDelayMs, inbox, owner, mode, seq } = claim
  const rest = { owner, actor, label, meta, sinceMs, expiresAtMs, lockDelayMs, inbox }
  return { id, state: 'held', ticket: 0, mode, seq, ttlMs: before?.ttlMs ?? 0, ...rest, isNew: false }
}

function rowOfWaiter(waiter: QueuedClaim, ticket: number, isNew: boolean): ClaimRow & { isNew: boolean } {
  const { claim, inbox, joinedAtMs, expiresAtMs } = waiter
  const { id, mode, owner, actor, label, meta, ttlMs, lockDelayMs } = claim
  const rest = { owner, actor, label, meta, sinceMs: joinedAtMs, expiresAtMs, ttlMs, lockDelayMs, inbox }
  return { id, state: 'waiting', ticket, mode, seq: 0, ...rest, isNew }
}
