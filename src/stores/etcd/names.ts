import type { Mode } from '../../model/index.ts'

/** Everything of ours in etcd begins with this, so that a role can name it: `readwrite holdfast/ --prefix`. */
export const OURS = 'holdfast/'
const LOCK = 'holdfast/lock/'
const RECORD = 'holdfast/record/'
const INBOX = 'holdfast/inbox/'

/**
 * Where the claims of a key stand. Those in the line hold or wait by the order in which their keys were created. Those
 * beside the line hold whatever their order is: they joined, adopted or changed a hold. A delay keeps the key closed
 * when the claim of the same id is gone. The letters are in this order because comparisons are made over ranges of them.
 */
export type Zone = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'z'
export const SHARED: Zone = 'a'
export const EXCLUSIVE: Zone = 'b'
export const BESIDE_SHARED: Zone = 'c'
export const BESIDE_EXCLUSIVE: Zone = 'd'
export const PERMITS: Zone = 'e'
const BESIDE_PERMITS: Zone = 'f'
export const DELAY: Zone = 'z'

const LINE: Readonly<Record<Mode['kind'], Zone>> = { shared: 'a', exclusive: 'b', permits: 'e' }
const BESIDE: Readonly<Record<Mode['kind'], Zone>> = { shared: 'c', exclusive: 'd', permits: 'f' }
const MODES: Readonly<Record<string, Mode['kind']>> = {
  a: 'shared',
  b: 'exclusive',
  c: 'shared',
  d: 'exclusive',
  e: 'permits',
  f: 'permits',
}

/** A range of keys, without its end. */
export interface Range {
  readonly key: string
  readonly end: string
}

export const LOCKS: Range = { key: LOCK, end: 'holdfast/lock0' }

export function lineZone(mode: Mode): Zone {
  return LINE[mode.kind]
}

export function besideZone(mode: Mode): Zone {
  return BESIDE[mode.kind]
}

export function isBeside(zone: Zone): boolean {
  return zone === BESIDE_SHARED || zone === BESIDE_EXCLUSIVE || zone === BESIDE_PERMITS
}

export function modeKind(zone: Zone): Mode['kind'] {
  return MODES[zone] as Mode['kind']
}

/** U+0000 is in no key, so that no key's claims are another's. */
export function claimName(key: string, zone: Zone, id: string): string {
  return `${LOCK}${key}\0${zone}${encodeURIComponent(id)}`
}

/** Everything about one key. */
export function wholeOf(key: string): Range {
  return { key: `${LOCK}${key}\0`, end: `${LOCK}${key}\u0001` }
}

/** The zones from `first` to the last one before `end`; to the last of all without an `end`. */
export function zonesOf(key: string, first: Zone, end?: Zone): Range {
  return {
    key: `${LOCK}${key}\0${first}`,
    end: end === undefined ? `${LOCK}${key}\u0001` : `${LOCK}${key}\0${end}`,
  }
}

export function parseClaimName(name: string): { key: string; zone: Zone; id: string } {
  const at = name.lastIndexOf('\0')
  return {
    key: name.slice(LOCK.length, at),
    zone: name[at + 1] as Zone,
    id: decodeURIComponent(name.slice(at + 2)),
  }
}

export function lockPrefix(prefix: string): string {
  return LOCK + prefix
}

export function recordName(key: string): string {
  return RECORD + key
}

export function letterName(inbox: string, kind: string, id: string): string {
  return `${INBOX}${inbox}/${kind}/${encodeURIComponent(id)}`
}

export function inboxRange(inbox: string): Range {
  return { key: `${INBOX}${inbox}/`, end: `${INBOX}${inbox}0` }
}
