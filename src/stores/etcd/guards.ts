import type { Claim } from '../../model/index.ts'
import { claimName, claimsOf, placeOf, pointerName, queueBefore, type Range, wholeOf } from './names.ts'
import type { Entry, Snapshot } from './snapshot.ts'
import type { Compare } from './client/requests.ts'

/** What a transaction must find to be right: decisions about a key, in words that etcd understands. It stops at the first that is false. */

/** The claim can have the key although this process has seen nothing of it; never true for permits, which are added up. */
export function free({ key, mode }: Claim, shuts = [none(placeOf(key, 'shut'))]): Compare[] {
  const whole = wholeOf(key)
  if (mode.kind === 'shared') {
    // Everything but readers, and what says where in the queue they are.
    const hold = placeOf(key, 'hold', 'shared')
    const join = placeOf(key, 'join', 'shared')
    const writers = [
      { key: whole.key, end: hold.key },
      { key: hold.end, end: join.key },
      { key: join.end, end: placeOf(key, 'queue', 'shared').key },
    ]
    const later = { key: placeOf(key, 'wait').end, end: whole.end }
    return [...[...writers, later].map(none), ...shuts]
  }
  // In parts, so that a long queue is not read when there is a holder before it.
  const { key: start, end } = placeOf(key, 'queue')
  return [{ key: whole.key, end: start }, placeOf(key, 'queue'), { key: end, end: whole.end }].map(none)
}

/** Nobody has anything to do with the key. */
export function untouched(key: string): Compare {
  return none(wholeOf(key))
}

/** What may close the key is as it was seen: nobody's delay is new, and those who have one are there. */
export function shutsUnchanged({ key, revision, shuts }: Snapshot): Compare[] {
  const older: Compare = { target: 'mod', ...placeOf(key, 'shut'), is: '<', value: revision + 1 }
  return [older, ...shuts.map(({ claim }) => exists(claim))]
}

/** Nobody stands before a claim in the queue: what `obstacleOf` says when nothing arrives meanwhile. Never true for permits. */
export function isNext({ key, mode }: Claim, order: number): Compare[] {
  const reads = mode.kind === 'shared'
  const holds = reads ? placeOf(key, 'hold', 'exclusive') : placeOf(key, 'hold')
  const joining = reads ? placeOf(key, 'join', 'exclusive') : placeOf(key, 'join')
  const writers = queueBefore(key, 'exclusive', order)
  const permits = queueBefore(key, 'permits', order)
  const readers = reads ? [] : [queueBefore(key, 'shared', order)]
  return [holds, joining, placeOf(key, 'shut'), ...readers, permits, writers].map(none)
}

/** Nothing was added to what a claim for permits has counted before it: what has gone since is no more than it saw go. */
export function stillFits(snapshot: Snapshot, order: number): Compare[] {
  const { key, revision } = snapshot
  const counted = [placeOf(key, 'hold'), queueBefore(key, 'permits', order)]
  const older = counted.map(
    (range): Compare => ({ target: 'create', ...range, is: '<', value: revision + 1 }),
  )
  return [...older, ...shutsUnchanged(snapshot)]
}

/** Nothing came to the key since it was seen. */
export function nothingNew({ key, revision }: Snapshot): Compare {
  return { target: 'mod', ...claimsOf(key), is: '<', value: revision + 1 }
}

/** The claim is not there under any name that it can have. */
export function unknown(claim: Claim): Compare[] {
  return [...unqueuedNames(claim), pointerName(claim.key, claim.id)].map(absent)
}

/** The names that a claim can have outside of the queue: it may have been made a reader. */
export function unqueuedNames({ key, id, mode }: Pick<Claim, 'key' | 'id' | 'mode'>): string[] {
  const names = [claimName(key, 'hold', mode.kind, id), claimName(key, 'join', mode.kind, id)]
  return [...new Set([...names, claimName(key, 'hold', 'shared', id)])]
}

/** A claim is as it was seen. */
export function unchanged({ name, changed }: Pick<Entry, 'name' | 'changed'>): Compare {
  return { target: 'mod', key: name, is: '=', value: changed }
}

/** A claim is there, whatever became of its lease and its value. */
export function present({ name, created }: Pick<Entry, 'name' | 'created'>): Compare {
  return { target: 'create', key: name, is: '=', value: created }
}

export function exists(name: string): Compare {
  return { target: 'create', key: name, is: '>', value: 0 }
}

export function absent(name: string): Compare {
  return { target: 'create', key: name, is: '=', value: 0 }
}

/** A claim is bound to that lease: no other connection has taken it over. */
export function boundTo(name: string, lease: bigint): Compare {
  return { target: 'lease', key: name, is: '=', value: lease }
}

function none(range: Range): Compare {
  return { target: 'create', ...range, is: '=', value: 0 }
}
