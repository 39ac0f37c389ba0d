import { MOST_TOLD_OF_CONTENTION, type Mode } from '../../model/index.ts'
import type { StoreContext } from './context.ts'
import { present } from './guards.ts'
import { notificationOp } from './notifications.ts'
import type { LocalClaim } from './local-claims.ts'
import { placeOf, queueBefore } from './names.ts'
import { entryOf } from './snapshot.ts'
import type { Op, RangeOp } from './client/requests.ts'
import type { OpResult } from './client/responses.ts'

/** Reads whether somebody waits behind the holders of a key: the newest claims in the queue say it. */
export function contendedOp(key: string, kind: Mode['kind']): RangeOp {
  if (kind === 'exclusive') return { kind: 'range', ...placeOf(key, 'queue'), limit: 2 }
  return { kind: 'range', ...placeOf(key, 'queue', kind === 'shared' ? 'exclusive' : kind), limit: 1 }
}

export function isContended({ kvs }: OpResult, ownId: string): boolean {
  const others = kvs.map(entryOf).filter(({ id }) => id !== ownId)
  return others.some(({ value }) => value.state === 'waiting' || value.inbox === '')
}

/** Tells those who hold the key that somebody waits, by notifications that end with their leases. */
export async function tellHolders({ client }: StoreContext, { claim, order }: LocalClaim): Promise<void> {
  const { key, mode } = claim
  const most = MOST_TOLD_OF_CONTENTION
  const ranges = [
    placeOf(key, 'hold'),
    placeOf(key, 'join', 'permits'),
    queueBefore(key, 'exclusive', order),
    queueBefore(key, mode.kind === 'permits' ? 'permits' : 'shared', order),
  ]
  const look = ranges.map((range): RangeOp => ({ kind: 'range', ...range, limit: most }))
  const { results } = await client.txn({ compare: [], success: look, failure: [] })
  const holders = results
    .flatMap(({ kvs }) => kvs.map(entryOf))
    .filter(({ value, id }) => value.state !== 'waiting' && value.inbox !== '' && id !== claim.id)
    .slice(0, most)
  const success = holders.map((holder): Op => {
    const tell = [notificationOp('contended', holder)]
    return { kind: 'txn', compare: [present(holder)], success: tell, failure: [] }
  })
  if (success.length > 0) await client.txn({ compare: [], success, failure: [] })
}
