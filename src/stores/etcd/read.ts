import type { Blocked, Claim } from '../../model/index.ts'
import type { EtcdClient } from './client/client.ts'
import type { Compare, RangeOp } from './client/requests.ts'
import type { KeyValue } from './client/responses.ts'
import type { StoreContext } from './context.ts'
import { type PointerValue, parseValue } from './format.ts'
import { exists } from './guards.ts'
import { claimName, MODE_KINDS, pointerName, queueName, sectionOf } from './names.ts'
import {
  type ClaimEntry,
  entryOf,
  holderOf,
  holdKey,
  obstacleOf,
  type QueueSnapshot,
  type Shut,
  snapshotOf,
  snapshotOps,
} from './snapshot.ts'

const KEYS_PER_PAGE = 500

/** Reads the snapshot of a claim's key: the claims before `order` if it is in the queue, else all. */
export async function readSnapshot(
  { client }: StoreContext,
  { key, id, mode, owner }: Pick<Claim, 'key' | 'id' | 'mode' | 'owner'>,
  order = Number.POSITIVE_INFINITY,
): Promise<QueueSnapshot> {
  const success = snapshotOps(key, mode, order, owner !== null)
  const { results, header } = await client.txn({ success })
  return snapshotOf(key, results, header.revision, id)
}

export interface Closing {
  /** Keeps the key closed after an expiry. */
  readonly closedBy: Shut | null
  /** Holders whose expiry would close the key: they must still be there. */
  readonly delaying: readonly Compare[]
}

/** Checks which of the holders with a lock delay is gone. */
export async function closingOf({ client }: StoreContext, { shuts }: QueueSnapshot): Promise<Closing> {
  if (shuts.length === 0) return { closedBy: null, delaying: [] }
  const success = shuts.map(({ claim }): RangeOp => ({ kind: 'range', key: claim, countOnly: true }))
  const { results } = await client.txn({ success })
  const closedBy = shuts.find((_, index) => results[index]?.count === 0) ?? null
  return { closedBy, delaying: shuts.map(({ claim }) => exists(claim)) }
}

/** Finds a claim by its id, in any section. */
export async function findEntry(
  { client }: StoreContext,
  key: string,
  id: string,
): Promise<ClaimEntry | undefined> {
  const names = MODE_KINDS.flatMap((kind) => [
    claimName(key, 'hold', kind, id),
    claimName(key, 'join', kind, id),
  ])
  const read = async (all: readonly string[]) => {
    const success = all.map((name): RangeOp => ({ kind: 'range', key: name }))
    const { results } = await client.txn({ success })
    return results.flatMap(({ kvs }) => kvs)
  }
  const found = await read([...names, pointerName(key, id)])
  const entry = found.map(entryOf).find(({ section }) => section === 'hold' || section === 'join')
  if (entry !== undefined || found[0] === undefined) return entry
  const pointer = parseValue<PointerValue>(found[0].value)
  if (pointer === null) return undefined
  return (await read([queueName(key, pointer.mode, pointer.order, id)])).map(entryOf)[0]
}

/** The claims that share a hold with this one, including itself; none if it only waits. */
export async function membersOf(context: StoreContext, entry: ClaimEntry): Promise<readonly ClaimEntry[]> {
  const { key, id, value, mode, order } = entry
  if (value.state === 'waiting') return []
  if (value.state === 'trying') {
    const snapshot = await readSnapshot(context, { key, id, mode, owner: null }, order)
    const { closedBy } = await closingOf(context, snapshot)
    return obstacleOf(snapshot, mode, order, closedBy) === null ? [entry] : []
  }
  if (value.owner === undefined) return [entry]
  const { kvs } = await context.client.range(sectionOf(key, 'hold', mode.kind))
  return kvs.map(entryOf).filter((other) => holdKey(other) === holdKey(entry))
}

/** All keys of a range, read page by page. */
export async function* pagesOf(client: EtcdClient, from: string, end: string): AsyncIterable<KeyValue> {
  for (let next = from; ; ) {
    const { kvs } = await client.range({ key: next, end, limit: KEYS_PER_PAGE })
    yield* kvs
    if (kvs.length < KEYS_PER_PAGE) return
    next = `${kvs.at(-1)?.key}\0`
  }
}

/** `position` is 0 for a claim that does not wait. Watches report changes, so `retryAfterMs` is null. */
export function blocked(
  { runtime }: StoreContext,
  snapshot: QueueSnapshot | null,
  position: number,
  sentAtMs: number,
): Blocked {
  const holder = snapshot === null ? undefined : holderOf(snapshot)?.value
  return {
    kind: 'blocked',
    position,
    retryAfterMs: null,
    storeTimeMs: sentAtMs,
    holder:
      holder === undefined
        ? null
        : { label: holder.label, heldMs: Math.max(0, runtime.wallMs() - holder.sinceMs) },
  }
}
