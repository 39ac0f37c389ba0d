import {
  type Claim,
  covers,
  fits,
  type KeyState,
  type Member,
  type Mode,
  mismatch,
  type Refused,
  refused,
} from '../../model/index.ts'
import {
  DELAY,
  isBeside,
  modeKind,
  PERMITS,
  parseClaimName,
  type Range,
  type Zone,
  zonesOf,
} from './names.ts'
import { type ClaimValue, modeOf, parseValue } from './value.ts'
import type { KeyValue } from './wire/responses.ts'

/** A claim as etcd keeps it. */
export interface Entry {
  readonly name: string
  readonly key: string
  readonly id: string
  readonly zone: Zone
  readonly value: ClaimValue
  readonly mode: Mode
  /** Lower ones come first. */
  readonly order: number
  /** The revision that made it a holder, if it is one. */
  readonly seq: number
  readonly created: number
  readonly changed: number
  readonly lease: bigint
}

/** Claims that share one token: those of a named owner, else one. */
export interface Holding {
  readonly order: number
  readonly owner: string | null
  readonly mode: Mode
  readonly seq: number
  readonly members: readonly Entry[]
}

/** Everything about one key at one revision, in order. */
export interface Line {
  readonly key: string
  readonly revision: number
  readonly holds: readonly Holding[]
  /** Claims whose turn has come by the order, but which have not been told yet. */
  readonly offered: readonly Entry[]
  readonly waiting: readonly Entry[]
  /** What keeps the key closed after an expiry. */
  readonly closedBy: Range | null
  /** Holders that would close the key if they expired. */
  readonly delaying: readonly Entry[]
}

/** Who holds a key and who waits, told from nothing but what etcd keeps and the order in which it came. */
export function lineOf(key: string, kvs: readonly KeyValue[], revision: number): Line {
  const entries: Entry[] = []
  const delays: { readonly id: string; readonly name: string }[] = []
  for (const kv of kvs) {
    const { zone, id } = parseClaimName(kv.key)
    if (zone === DELAY) delays.push({ id, name: kv.key })
    else entries.push(entryOf(kv, key, zone, id))
  }
  entries.sort((one, other) => one.order - other.order || one.created - other.created)
  const known = new Map(entries.map((entry) => [entry.id, entry]))
  const orphan = delays.find(({ id }) => !known.has(id))
  const closedBy = orphan === undefined ? null : { key: orphan.name, end: '' }
  const holds = holdingsOf(entries.filter(isHolder))
  const offered: Entry[] = []
  const waiting: Entry[] = []
  const admitted: Pick<Holding, 'mode'>[] = [...holds]
  for (const entry of entries) {
    if (isHolder(entry)) continue
    const comes = waiting.length === 0 && closedBy === null && fits(entry.mode, admitted)
    if (comes) {
      admitted.push(entry)
      // One that had to wait would say so by now.
      if (entry.value.state === 'trying') holds.push(...holdingsOf([entry]))
      else offered.push(entry)
    } else if (entry.value.state === 'waiting' || entry.value.queue === true) {
      // One that only tried stands in nobody's way: it is on its way out.
      waiting.push(entry)
    }
  }
  holds.sort((one, other) => one.order - other.order)
  const delaying = delays.flatMap(({ id }) => known.get(id) ?? [])
  return { key, revision, holds, offered, waiting, closedBy, delaying }
}

function entryOf(kv: KeyValue, key: string, zone: Zone, id: string): Entry {
  const value = parseValue<ClaimValue>(kv.value)
  const { created, changed, lease } = kv
  return {
    name: kv.key,
    key,
    id,
    zone,
    value,
    mode: modeOf(modeKind(zone), value),
    order: value.order ?? created,
    seq: value.seq ?? (value.granted === true ? changed : created),
    created,
    changed,
    lease,
  }
}

export function findEntry(line: Line, id: string): Entry | undefined {
  const same = (entry: Entry): boolean => entry.id === id
  for (const { members } of line.holds) {
    const member = members.find(same)
    if (member !== undefined) return member
  }
  return line.offered.find(same) ?? line.waiting.find(same)
}

function isHolder(entry: Entry): boolean {
  return isBeside(entry.zone) || entry.value.state === 'held'
}

/** The hold that an entry is a member of. */
export function holdingOf(line: Line, id: string): Holding | undefined {
  return line.holds.find(({ members }) => members.some((member) => member.id === id))
}

/**
 * Whether a claim's turn has come, and no revision says so yet. One that tried may hold since it came or since somebody before
 * it left: only its process could tell, by the answer that it got.
 */
export function isDue(line: Line, entry: Entry): boolean {
  if (line.offered.includes(entry)) return true
  return entry.value.state === 'trying' && holdingOf(line, entry.id) !== undefined
}

/** What can be done with a claim that etcd does not keep yet. */
export type Decision =
  | Refused
  | { readonly kind: 'join'; readonly hold: Holding }
  | { readonly kind: 'admit' }
  | { readonly kind: 'block' }

export function decide(line: Line, claim: Claim): Decision {
  const own = claim.owner === null ? undefined : line.holds.find(({ owner }) => owner === claim.owner)
  const mismatched = mismatch(stateOf(line), claim)
  if (mismatched !== null) return mismatched
  if (own !== undefined) {
    if (covers(own.mode, claim.mode)) return { kind: 'join', hold: own }
    return refused(
      'upgrade',
      'the owner holds the key already, with less than it now asks for: release that first',
    )
  }
  if (line.waiting.length > 0 || line.closedBy !== null) return { kind: 'block' }
  return { kind: fits(claim.mode, [...line.holds, ...line.offered]) ? 'admit' : 'block' }
}

/** What a claim in the line must watch: when it changes, the claim's turn may have come. Null when nothing is in its way. */
export function blockerOf(line: Line, entry: Entry): Range | null {
  if (line.closedBy !== null) return line.closedBy
  const before = [...line.holds.flatMap(({ members }) => members), ...line.offered, ...line.waiting]
    .filter((other) => other.order < entry.order && other !== entry)
    .sort((one, other) => one.order - other.order || one.created - other.created)
  if (entry.mode.kind === 'permits') {
    const waiting = before.findLast((other) => line.waiting.includes(other))
    // The first in line waits for enough of the holders, whoever they are; the others for the one before them.
    return waiting === undefined ? zonesOf(line.key, PERMITS, DELAY) : pointOf(waiting)
  }
  const reads = entry.mode.kind === 'shared'
  const last = before.findLast((other) => !reads || other.mode.kind === 'exclusive')
  return last === undefined ? null : pointOf(last)
}

/** 1 is next. */
export function positionOf(line: Line, id: string): number {
  return line.waiting.findIndex((entry) => entry.id === id) + 1
}

/** The same in the words of the model. Nothing is known about expiry unless it is told. */
export function stateOf(
  line: Line,
  expiresAtMs: (entry: Entry) => number = () => 0,
  wallMs = Number.POSITIVE_INFINITY,
): KeyState {
  const held = line.holds.map(({ owner, mode, seq, members }) => ({
    owner,
    mode,
    seq,
    members: members.map((member) => memberOf(member, expiresAtMs, wallMs)),
  }))
  return {
    holds: held,
    line: [...line.offered, ...line.waiting].map((entry) => ({
      claim: claimOf(entry),
      inbox: entry.value.inbox,
      joinedAtMs: Math.min(entry.value.sinceMs, wallMs),
      expiresAtMs: expiresAtMs(entry),
    })),
    seq: Math.max(0, ...held.map(({ seq }) => seq)),
    seqKeptUntilMs: 0,
    closedUntilMs: 0,
  }
}

function holdingsOf(entries: readonly Entry[]): Holding[] {
  const holds = new Map<number, Holding>()
  for (const entry of entries) {
    const { order, mode, seq } = entry
    const hold = holds.get(order) ?? { order, owner: entry.value.owner ?? null, mode, seq, members: [] }
    holds.set(order, { ...hold, members: [...hold.members, entry] })
  }
  return [...holds.values()]
}

function pointOf({ name }: Entry): Range {
  return { key: name, end: '' }
}

function memberOf(entry: Entry, expiresAtMs: (entry: Entry) => number, wallMs: number): Member {
  const { id, value } = entry
  return {
    id,
    expiresAtMs: expiresAtMs(entry),
    // The clock of another machine may be ahead of ours.
    sinceMs: Math.min(value.sinceMs, wallMs),
    label: value.label,
    actor: value.actor ?? null,
    meta: value.meta ?? null,
    lockDelayMs: value.lockDelayMs ?? 0,
    inbox: value.inbox,
  }
}

function claimOf({ id, key, mode, value }: Entry): Claim {
  return {
    key,
    id,
    mode,
    ttlMs: value.ttlMs,
    queue: true,
    owner: value.owner ?? null,
    actor: value.actor ?? null,
    label: value.label,
    meta: value.meta ?? null,
    lockDelayMs: value.lockDelayMs ?? 0,
    group: null,
    replaces: null,
  }
}
