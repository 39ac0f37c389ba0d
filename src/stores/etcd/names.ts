import type { Mode } from '../../model/index.ts'

/** The prefix of every key, which a role can name: `readwrite holdfast/ --prefix`. */
export const OURS = 'holdfast/'
const LOCK = 'holdfast/lock/'
const RECORD = 'holdfast/record/'
const INBOX = 'holdfast/inbox/'

/**
 * The sections of a lock's keys, by the word after the lock's name:
 *
 * - `hold/<mode>/<id>`: a hold that was granted outside of the queue.
 * - `join/<mode>/<id>`: a claim that arrived. Its create revision is its order. A claim for permits that fits stays here.
 * - `queue/<mode>/<order>/<id>`: a waiter, or a hold that was granted in the queue. The newest sorts first, so that a range
 *   with a limit gives the nearest predecessors of a claim.
 * - `shut/<id>`: keeps the lock closed after the claim of that id ended without a release.
 * - `wait/<id>`: the order of a claim in the queue, which makes it findable by its id.
 *
 * Version 1 uses the letters a to f and z, and refuses a lock with any other letter as one of another version.
 */
export type Section = 'hold' | 'join' | 'queue' | 'shut' | 'wait'

/** A range of keys, without its end; one key without an `end`. */
export interface Range {
  readonly key: string
  readonly end?: string
}

type Kind = Mode['kind']

export const MODE_KINDS: readonly Kind[] = ['exclusive', 'permits', 'shared']
export const LOCKS = { key: LOCK, end: 'holdfast/lock0' }
/** Above any revision, and exact as a number. */
const LAST_ORDER = 10 ** 15 - 1
const DIGITS = 15

/** No key contains U+0000, so the claims of two keys never mix. */
export function claimName(key: string, section: 'hold' | 'join', kind: Kind, id: string): string {
  return `${LOCK}${key}\0${section}/${kind}/${encodeURIComponent(id)}`
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

/** The two ranges in which version 1 wrote. */
export function formerOf(key: string): readonly Required<Range>[] {
  return [
    { key: `${LOCK}${key}\0`, end: `${LOCK}${key}\0g` },
    { key: `${LOCK}${key}\0x`, end: `${LOCK}${key}\u0001` },
  ]
}

export function sectionOf(key: string, section: Section, kind?: Kind): Required<Range> {
  const name = `${LOCK}${key}\0${section}${kind === undefined ? '' : `/${kind}`}`
  return { key: `${name}/`, end: `${name}0` }
}

/** Everything between the first hold and the last claim in the queue. */
export function claimRange(key: string): Required<Range> {
  return { key: sectionOf(key, 'hold').key, end: sectionOf(key, 'queue').end }
}

/** The claims in the queue before `order`, the nearest first. */
export function queueBefore(key: string, kind: Kind, order: number): Required<Range> {
  const { key: start, end } = sectionOf(key, 'queue', kind)
  return { key: order === Number.POSITIVE_INFINITY ? start : start + newestFirst(order - 1), end }
}

export interface ParsedName {
  readonly key: string
  readonly section: Section | null
  readonly kind: Kind | null
  /** Null where the create revision is the order. */
  readonly order: number | null
  readonly id: string
}

/** `section` is null for a name of another version. */
export function parseClaimName(name: string): ParsedName {
  const at = name.lastIndexOf('\0')
  const key = name.slice(LOCK.length, at)
  const parts = name.slice(at + 1).split('/')
  const id = decoded(parts.at(-1) ?? '')
  const [section, kind, order] = parts
  if ((section === 'shut' || section === 'wait') && parts.length === 2)
    return { key, section, kind: null, order: null, id }
  const known = MODE_KINDS.find((each) => each === kind) ?? null
  if (known !== null && (section === 'hold' || section === 'join') && parts.length === 3)
    return { key, section, kind: known, order: null, id }
  if (known !== null && section === 'queue' && parts.length === 4)
    return { key, section, kind: known, order: LAST_ORDER - Number(order), id }
  return { key, section: null, kind: known, order: null, id }
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
