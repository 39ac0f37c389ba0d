import type { Claim } from '../../model/index.ts'
import type { Compare } from './client/requests.ts'
import { claimName, claimRange, pointerName, queueBefore, type Range, sectionOf, wholeOf } from './names.ts'
import type { ClaimEntry, QueueSnapshot } from './snapshot.ts'

/** Decisions about a key as compares of a transaction. etcd stops at the first that is false. */

/** The claim may hold the key, decided without a snapshot. Not for permits, which must be added up. */
export function free({ key, mode }: Claim, shuts = [none(sectionOf(key, 'shut'))]): Compare[] {
  const whole = wholeOf(key)
  if (mode.kind === 'shared') {
    // Everything except readers and the pointers to their positions.
    const hold = sectionOf(key, 'hold', 'shared')
    const join = sectionOf(key, 'join', 'shared')
    const writers = [
      { key: whole.key, end: hold.key },
      { key: hold.end, end: join.key },
      { key: join.end, end: sectionOf(key, 'queue', 'shared').key },
    ]
    const later = { key: sectionOf(key, 'wait').end, end: whole.end }
    return [...[...writers, later].map(none), ...shuts]
  }
  // In parts, so that etcd does not read a long queue when there is a holder before it.
  const { key: start, end } = sectionOf(key, 'queue')
  return [{ key: whole.key, end: start }, sectionOf(key, 'queue'), { key: end, end: whole.end }].map(none)
}

/** There is nothing under the key. */
export function untouched(key: string): Compare {
  return none(wholeOf(key))
}

/** No lock delay has begun: there is no new one, and every claim that has one is still there. */
export function shutsUnchanged({ key, revision, shuts }: QueueSnapshot): Compare[] {
  const older: Compare = { target: 'mod', ...sectionOf(key, 'shut'), is: '<', value: revision + 1 }
  return [older, ...shuts.map(({ claim }) => exists(claim))]
}

/** No claim is before this one in the queue: the answer of `obstacleOf`, as compares. Not for permits. */
export function isNext({ key, mode }: Claim, order: number): Compare[] {
  const reads = mode.kind === 'shared'
  const holds = reads ? sectionOf(key, 'hold', 'exclusive') : sectionOf(key, 'hold')
  const joining = reads ? sectionOf(key, 'join', 'exclusive') : sectionOf(key, 'join')
  const writers = queueBefore(key, 'exclusive', order)
  const permits = queueBefore(key, 'permits', order)
  const readers = reads ? [] : [queueBefore(key, 'shared', order)]
  return [holds, joining, sectionOf(key, 'shut'), ...readers, permits, writers].map(none)
}

/** No claim was added to those that a claim for permits has counted before it. */
export function stillFits(snapshot: QueueSnapshot, order: number): Compare[] {
  const { key, revision } = snapshot
  const counted = [sectionOf(key, 'hold'), queueBefore(key, 'permits', order)]
  const older = counted.map(
    (range): Compare => ({ target: 'create', ...range, is: '<', value: revision + 1 }),
  )
  return [...older, ...shutsUnchanged(snapshot)]
}

/** No claim of the key has changed since the snapshot. */
export function nothingNew({ key, revision }: QueueSnapshot): Compare {
  return { target: 'mod', ...claimRange(key), is: '<', value: revision + 1 }
}

/** The claim is absent under each of its possible names. */
export function claimAbsent(claim: Claim): Compare[] {
  return [...unqueuedNames(claim), pointerName(claim.key, claim.id)].map(absent)
}

/** The possible names of a claim outside of the queue; a writer may have become a reader. */
export function unqueuedNames({ key, id, mode }: Pick<Claim, 'key' | 'id' | 'mode'>): string[] {
  const names = [claimName(key, 'hold', mode.kind, id), claimName(key, 'join', mode.kind, id)]
  return [...new Set([...names, claimName(key, 'hold', 'shared', id)])]
}

/** A claim is as it was read. */
export function unchanged({ name, changed }: Pick<ClaimEntry, 'name' | 'changed'>): Compare {
  return { target: 'mod', key: name, is: '=', value: changed }
}

/** A claim is there, with any lease and value. */
export function present({ name, created }: Pick<ClaimEntry, 'name' | 'created'>): Compare {
  return { target: 'create', key: name, is: '=', value: created }
}

export function exists(name: string): Compare {
  return { target: 'create', key: name, is: '>', value: 0 }
}

export function absent(name: string): Compare {
  return { target: 'create', key: name, is: '=', value: 0 }
}

/** A claim is bound to that lease, so no other connection has taken it over. */
export function boundTo(name: string, lease: bigint): Compare {
  return { target: 'lease', key: name, is: '=', value: lease }
}

function none(range: Range): Compare {
  return { target: 'create', ...range, is: '=', value: 0 }
}
