import { type Claim, covers, EMPTY, type Mode, mismatch, type Refused, refused } from '../../model/index.ts'
import type { RangeOp } from './client/requests.ts'
import type { KeyValue, OpResult } from './client/responses.ts'
import {
  type ClaimValue,
  foreignValue,
  modeOfValue,
  parseValue,
  type ShutValue,
  UNKNOWN_FORMAT,
} from './format.ts'
import {
  formerOf,
  MODE_KINDS,
  parseClaimName,
  queueBefore,
  type Range,
  type Section,
  sectionOf,
} from './names.ts'

/** A claim as etcd stores it. */
export interface ClaimEntry {
  readonly name: string
  readonly key: string
  readonly id: string
  readonly section: Section | null
  readonly value: ClaimValue
  readonly mode: Mode
  /** Its order in the queue: lower is earlier. */
  readonly order: number
  /** The revision of the grant, if it holds. */
  readonly seq: number
  readonly created: number
  readonly changed: number
  readonly lease: bigint
}

/** Keeps the key closed if the claim under the name `claim` is gone. */
export interface Shut {
  readonly name: string
  readonly id: string
  readonly claim: string
}

/** The part of a key that decides about one claim, at one revision: never the whole queue. */
export interface QueueSnapshot {
  readonly key: string
  readonly revision: number
  readonly holds: readonly ClaimEntry[]
  readonly joining: readonly ClaimEntry[]
  /** The nearest claims before the claim in the queue of each mode, the nearest first. */
  readonly queue: Readonly<Record<Mode['kind'], readonly ClaimEntry[]>>
  /** The number of all claims, read or not. */
  readonly counts: Readonly<Record<'hold' | 'join' | Mode['kind'], number>>
  readonly shuts: readonly Shut[]
  /** There are claims in another format, which block every claim. */
  readonly foreign: boolean
}

/** The most arrivals to read; the first waiter reads again once the others have their positions. */
const ARRIVALS_READ = 16
/** The number of first waiters of a semaphore that watch every holder; later waiters watch one of these. */
const [LEAST_FIRST, MOST_FIRST] = [8, 32]
export const RANGES = 8

/** The reads of a snapshot for a claim of that mode and order. `everyHold` reads all holds, to find that of a named owner. */
export function snapshotOps(key: string, mode: Mode, order: number, everyHold = false): RangeOp[] {
  const limit = mode.kind === 'permits' ? mode.limit : 0
  const read = (range: Range, most: number): RangeOp => ({ kind: 'range', ...range, limit: most })
  return [
    read(sectionOf(key, 'hold'), everyHold ? 0 : limit + 1),
    read(sectionOf(key, 'join'), limit + ARRIVALS_READ),
    ...MODE_KINDS.map((kind) =>
      read(queueBefore(key, kind, order), kind === mode.kind && limit > 0 ? limit + firstInQueue(limit) : 1),
    ),
    read(sectionOf(key, 'shut'), 0),
    ...formerOf(key).map((range) => read(range, 1)),
  ]
}

type Results = [OpResult, OpResult, OpResult, OpResult, OpResult, OpResult, ...OpResult[]]

/** Parses the results of `snapshotOps`, which may follow other results. Leaves out the claim itself. */
export function snapshotOf(
  key: string,
  results: readonly OpResult[],
  revision: number,
  ownId: string,
): QueueSnapshot {
  const [hold, join, exclusive, permits, shared, shut, ...former] = results.slice(-RANGES) as Results
  const entriesOf = ({ kvs }: OpResult): ClaimEntry[] => kvs.map(entryOf).filter(({ id }) => id !== ownId)
  const countOf = ({ kvs, count }: OpResult, entries: readonly ClaimEntry[]): number =>
    count - (kvs.length - entries.length)
  const holds = entriesOf(hold)
  const joining = entriesOf(join)
  const queue = { exclusive: entriesOf(exclusive), permits: entriesOf(permits), shared: entriesOf(shared) }
  const counts = {
    hold: countOf(hold, holds),
    join: countOf(join, joining),
    exclusive: countOf(exclusive, queue.exclusive),
    permits: countOf(permits, queue.permits),
    shared: countOf(shared, queue.shared),
  }
  const shuts = shut.kvs.map(shutOf).filter(({ id }) => id !== ownId)
  const known = [...holds, ...joining, ...queue.exclusive, ...queue.permits, ...queue.shared]
  const foreign = known.some(({ value }) => value.inbox === '') || former.some(({ count }) => count > 0)
  return { key, revision, holds, joining, queue, counts, shuts, foreign }
}

export function entryOf(kv: KeyValue): ClaimEntry {
  const { key, section, kind, order, id } = parseClaimName(kv.key)
  const value = (section === null ? null : parseValue<ClaimValue>(kv.value)) ?? foreignValue('held')
  const { created, changed, lease } = kv
  return {
    name: kv.key,
    key,
    id,
    section,
    value,
    mode: modeOfValue(kind ?? 'exclusive', value),
    order: order ?? created,
    seq: value.seq ?? (value.granted === true ? changed : created),
    created,
    changed,
    lease,
  }
}

export function shutOf(kv: KeyValue): Shut {
  const claim = parseValue<ShutValue>(kv.value)?.claim ?? ''
  return { name: kv.key, id: parseClaimName(kv.key).id, claim }
}

/** The reason why a claim cannot hold the key now, which is also what to watch. */
export type Obstacle =
  /** The claim is blocked until that key is gone. */
  | { readonly kind: 'key'; readonly name: string }
  /** Permits: the claim is blocked until that waiter holds or leaves. */
  | { readonly kind: 'turn'; readonly name: string }
  /** Permits: the claim is blocked until the remaining weights are at most `spare`. */
  | { readonly kind: 'permits'; readonly weights: ReadonlyMap<string, number>; readonly spare: number }
  /** More claims arrive than the snapshot has. */
  | { readonly kind: 'incomplete' }

/**
 * The obstacle between a claim and its key; null when it may hold. Null stays true while the claim exists, because later claims
 * queue behind it: the transaction that grants it only has to compare the claim itself. `closedBy` keeps the key closed after an
 * expiry.
 */
export function obstacleOf(
  snapshot: QueueSnapshot,
  mode: Mode,
  order: number,
  closedBy: Shut | null,
): Obstacle | null {
  if (mode.kind === 'permits') return permitsObstacle(snapshot, mode, order, closedBy)
  const { holds, queue, joining, counts } = snapshot
  const reads = mode.kind === 'shared'
  const blocks = (entry: ClaimEntry): boolean => !reads || entry.mode.kind !== 'shared'
  const before = [...queue.exclusive, ...queue.permits, ...queue.shared].filter(blocks)
  const [nearest] = before.sort((one, other) => other.order - one.order)
  const blocker = nearest ?? holds.find(blocks)
  if (blocker !== undefined) return { kind: 'key', name: blocker.name }
  const arrived = joining.filter((entry) => blocks(entry) && entry.order < order)
  const last = arrived.sort((one, other) => other.order - one.order)[0]
  if (last !== undefined) return { kind: 'key', name: last.name }
  if (closedBy !== null) return { kind: 'key', name: closedBy.name }
  // The range sorts writers before readers.
  const all = counts.join === joining.length || (reads && joining.at(-1)?.mode.kind === 'shared')
  return all ? null : { kind: 'incomplete' }
}

function permitsObstacle(
  { holds, queue, joining, counts }: QueueSnapshot,
  { limit, weight }: Mode & { kind: 'permits' },
  order: number,
  closedBy: Shut | null,
): Obstacle | null {
  const { permits } = queue
  const isWhole =
    counts.permits === permits.length && counts.join === joining.length && counts.hold === holds.length
  // Claims outside of the snapshot only take more permits, so a waiter here waits in any case.
  const { weights, used, waiting } = admission(holds, [...joining, ...permits], order)
  const first = firstInQueue(limit)
  const ahead = waiting[Math.max(0, waiting.length - first)]
  if (ahead !== undefined && (!isWhole || waiting.length >= first)) return { kind: 'turn', name: ahead.name }
  if (ahead === undefined && used + weight <= limit) {
    if (!isWhole) return { kind: 'incomplete' }
    return closedBy === null ? null : { kind: 'key', name: closedBy.name }
  }
  return { kind: 'permits', weights, spare: limit - weight }
}

/** Adds up the permits of the holders and of the claims before `order`, and separates the waiters. */
function admission(holds: readonly ClaimEntry[], others: readonly ClaimEntry[], order: number) {
  const weights = new Map<string, number>()
  const waiting: ClaimEntry[] = []
  let used = 0
  const add = (entry: ClaimEntry): void => {
    const { mode } = entry
    const own = mode.kind === 'permits' ? mode.weight : Number.POSITIVE_INFINITY
    weights.set(entry.name, own)
    used += own
  }
  for (const hold of new Map(holds.map((entry) => [holdKey(entry), entry])).values()) add(hold)
  for (const entry of [...others].sort((one, other) => one.order - other.order)) {
    const { mode, value } = entry
    if (value.state === 'held') add(entry)
    else if (entry.order >= order) continue
    else if (waiting.length === 0 && (mode.kind !== 'permits' || used + mode.weight <= mode.limit)) add(entry)
    else {
      // A `trying` claim counts too: it is about to leave, but a resent attempt would hold by its order.
      waiting.push(entry)
      add(entry)
    }
  }
  return { weights, used, waiting }
}

function firstInQueue(limit: number): number {
  return Math.min(MOST_FIRST, Math.max(LEAST_FIRST, limit))
}

/** The identity of a hold: claims of one owner share a hold and its permits. */
export function holdKey({ value, id, seq }: ClaimEntry): string {
  return value.owner === undefined ? id : `${seq} ${value.owner}`
}

/** 1 is next. Exact near the front of the queue; farther back it may count holders in the queue. */
export function positionOf(snapshot: QueueSnapshot, mode: Mode, order: number): number {
  const { counts, holds, joining, queue } = snapshot
  if (mode.kind === 'permits') {
    if (counts.permits > queue.permits.length)
      return Math.max(1, counts.permits + counts.hold + 1 - mode.limit)
    return admission(holds, [...joining, ...queue.permits], order).waiting.length + 1
  }
  const arrived = joining.filter((entry) => entry.order < order).length
  const before = counts.exclusive + counts.shared + arrived
  // Without a hold outside of the queue, the first claim in it is the holder.
  return Math.max(1, before + (counts.hold > 0 ? 1 : 0))
}

/** Refuses a claim that never fits the present claims. */
export function refusalOf({ holds, joining, queue, foreign }: QueueSnapshot, claim: Claim): Refused | null {
  if (foreign) return refused('format', UNKNOWN_FORMAT)
  const others = [holds[0], queue.exclusive[0], queue.permits[0], queue.shared[0], joining[0]]
  const other = others.find((entry) => entry !== undefined)
  if (other === undefined) return mismatch(EMPTY, claim)
  const hold = { owner: null, mode: other.mode, seq: other.seq, members: [] }
  return mismatch({ ...EMPTY, holds: [hold] }, claim)
}

/** Refuses a claim that wants more than the hold of its owner. */
export function upgradeRefusal(hold: ClaimEntry, claim: Claim): Refused | null {
  if (covers(hold.mode, claim.mode)) return null
  return refused(
    'upgrade',
    'the owner holds the key already, with less than it now asks for: release that first',
  )
}

/** A claim in the way that is known to hold, if there is one. */
export function holderOf({ holds, joining, queue }: QueueSnapshot): ClaimEntry | undefined {
  const others = [...queue.exclusive, ...queue.permits, ...queue.shared, ...joining]
  return holds[0] ?? others.find(({ value }) => value.state !== 'waiting')
}
