import type { Claim } from '../../model/index.ts'
import type { Entry, Line } from './line.ts'
import {
  BESIDE_EXCLUSIVE,
  BESIDE_SHARED,
  besideZone,
  claimName,
  EXCLUSIVE,
  lineZone,
  type Range,
  SHARED,
  wholeOf,
  zonesOf,
} from './names.ts'
import type { Compare } from './wire/requests.ts'

/** What a transaction must find to be right: decisions about a line, in words that etcd understands. */

/** Nobody holds the key or waits for it. */
export function free(key: string): Compare[] {
  return [none(wholeOf(key))]
}

/** No writer holds the key or waits for it, it is not a semaphore, and nothing may close it. */
export function freeForReader(key: string): Compare[] {
  return [none(zonesOf(key, EXCLUSIVE, BESIDE_SHARED)), none(zonesOf(key, BESIDE_EXCLUSIVE))]
}

/** The claim is not there under any name that it can have. */
export function unknown({ key, id, mode }: Claim): Compare[] {
  const zones = new Set([lineZone(mode), besideZone(mode), BESIDE_SHARED])
  return [...zones].map((zone) => ({ target: 'create', key: claimName(key, zone, id), is: '=', value: 0 }))
}

/** A claim is as it was seen. */
export function unchanged({ name, changed }: Pick<Entry, 'name' | 'changed'>): Compare {
  return { target: 'mod', key: name, is: '=', value: changed }
}

/** A claim is there, whatever became of its lease and its value. */
export function present({ name, created }: Pick<Entry, 'name' | 'created'>): Compare {
  return { target: 'create', key: name, is: '=', value: created }
}

/**
 * Nobody stands before a claim in the line that stands in its way: one of these must be true. There is none for permits,
 * which must be added up. An empty range compares as if it had one key of revision 0.
 */
export function isNext({ key, mode }: Claim, created: number): readonly (readonly Compare[])[] {
  switch (mode.kind) {
    case 'exclusive': {
      const line: Compare = {
        target: 'create',
        ...zonesOf(key, SHARED, BESIDE_SHARED),
        is: '>',
        value: created - 1,
      }
      return [[line, none(zonesOf(key, BESIDE_SHARED))]]
    }
    case 'shared': {
      const writers = zonesOf(key, EXCLUSIVE, BESIDE_SHARED)
      const others = none(zonesOf(key, BESIDE_EXCLUSIVE))
      return [
        [none(writers), others],
        [{ target: 'create', ...writers, is: '>', value: created }, others],
      ]
    }
    case 'permits':
      return []
  }
}

/** Nothing came to the line since it was seen, and nobody left it in a way that closes the key. */
export function nothingNew(line: Line): Compare[] {
  const older: Compare = { target: 'mod', ...wholeOf(line.key), is: '<', value: line.revision + 1 }
  return [older, ...line.delaying.map(present)]
}

function none(range: Range): Compare {
  return { target: 'create', ...range, is: '=', value: 0 }
}
