import type { Mode } from '../../model/index.ts'

/** Everything of ours in etcd begins with this, so that a role can name it: `readwrite holdfast/ --prefix`. */
export const OURS = 'holdfast/'
const LOCK = 'holdfast/lock/'
const RECORD = 'holdfast/record/'
const INBOX = 'holdfast/inbox/'

/**
 * What a key of etcd says about a lock, by the word after the lock's name:
 *
 * - `hold/<mode>/<id>`: a hold that did not come through the queue.
 * - `join/<mode>/<id>`: a claim that arrived. Its creation is its place in the order. A claim for permits that fits stays here.
 * - `queue/<mode>/<order>/<id>`: a claim that waits, or holds since its turn came. The newest comes first, so that a range with
 *   a limit gives the nearest predecessors of a claim.
 * - `shut/<id>`: keeps the lock closed when the claim of that id ended without a release.
 * - `wait/<id>`: the order of a claim in the queue, so that it can be found by its id.
 *
 * Version 1 has letters from a to f, and z. Version 1 takes every other letter for a claim of another version, and refuses.
 */
export type Place = 'hold' | 'join' | 'queue' | 'shut' | 'wait'

/** A range of keys, without its end; one key without an `end`. */
export interface Range {
  readonly key: string
  readonly end?: string
}

type Kind = Mode['kind']

export const KINDS: readonly Kind[] = ['exclusive', 'permits', 'shared']
export const LOCKS = { key: LOCK, end: 'holdfast/lock0' }
/** Above any revision, and exact as a number. */
const LAST_ORDER = 10 ** 15 - 1
const DIGITS = 15

/** U+0000 is in no key, so that no key's claims are another's. */
export function claimName(key: string, place: 'hold' | 'join', kind: Kind, id: string): string {
  return `${LOCK}${key}\0${place}/${kind}/${encodeURIComponent(id)}`
}

export function queueName(key: string, kind: Kind, order: number, id: string): string {
  return `${LOCK}${key}\0queue/${kind}/${newestFirst(order)}/${encodeURIComponent(id)}`
}

export function pointerName(key: string, id: string): string {
  return `${LOCK}${key}\0wait/${encodeURIComponent(id)}`
}

export function shutName({ key, id }: { readonly key: string; readonly id: string }): string {
  return `${LOCK}${key}\0shut/${encodeURIComponent(id)}`
}

/** Everything about one key. */
export function wholeOf(key: string): Required<Range> {
  return { key: `${LOCK}${key}\0`, end: `${LOCK}${key}\u0001` }
}

/** What versions before this one have written about the key: two ranges. */
export function formerOf(key: string): readonly Required<Range>[] {
  return [
    { key: `${LOCK}${key}\0`, end: `${LOCK}${key}\0g` },
    { key: `${LOCK}${key}\0x`, end: `${LOCK}${key}\u0001` },
  ]
}

export function placeOf(key: string, place: Place, kind?: Kind): Required<Range> {
  const name = `${LOCK}${key}\0${place}${kind === undefined ? '' : `/${kind}`}`
  return { key: `${name}/`, end: `${name}0` }
}

/** Everything between the first hold and the last claim in the queue. */
export function claimsOf(key: string): Required<Range> {
  return { key: placeOf(key, 'hold').key, end: placeOf(key, 'queue').end }
}

/** The claims in the queue that came before `order`, the nearest first. */
export function queueBefore(key: string, kind: Kind, order: number): Required<Range> {
  const { key: start, end } = placeOf(key, 'queue', kind)
  return { key: order === Number.POSITIVE_INFINITY ? start : start + newestFirst(order - 1), end }
}

export interface ParsedName {
  readonly key: string
  readonly place: Place | null
  readonly kind: Kind | null
  /** Null where the key's creation says it. */
  readonly order: number | null
  readonly id: string
}

/** `place` is null for a name of another version. */
export function parseClaimName(name: string): ParsedName {
  const at = name.lastIndexOf('\0')
  const key = name.slice(LOCK.length, at)
  const parts = name.slice(at + 1).split('/')
  const id = decoded(parts.at(-1) ?? '')
  const [place, kind, order] = parts
  if ((place === 'shut' || place === 'wait') && parts.length === 2)
    return { key, place, kind: null, order: null, id }
  const known = KINDS.find((each) => each === kind) ?? null
  if (known !== null && (place === 'hold' || place === 'join') && parts.length === 3)
    return { key, place, kind: known, order: null, id }
  if (known !== null && place === 'queue' && parts.length === 4)
    return { key, place, kind: known, order: LAST_ORDER - Number(order), id }
  return { key, place: null, kind: known, order: null, id }
}

export function lockPrefix(prefix: string): string {
  return LOCK + prefix
}

export function recordName(key: string): string {
  return RECORD + key
}

export function notificationName(inbox: string, kind: string, id: string): string {
  return `${INBOX}${inbox}/${kind}/${encodeURIComponent(id)}`
}

export function inboxRange(inbox: string): Required<Range> {
  return { key: `${INBOX}${inbox}/`, end: `${INBOX}${inbox}0` }
}

function newestFirst(order: number): string {
  return String(LAST_ORDER - order).padStart(DIGITS, '0')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
