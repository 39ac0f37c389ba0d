import { checkText } from '../core/check.ts'

const LONGEST_PATTERN = 100
const HEX_ID_LENGTH = 8
const LONG_ID_LENGTH = 20
/** The lengths of a UUID's parts, between its dashes. */
const UUID_WORDS = [8, 4, 4, 4, 12] as const
const UUID_LENGTH = 36
const DASH = 45

/** The pattern of all keys beyond the limit. */
export const OTHER = 'other'

/**
 * The key with its variable parts as `*`: numbers, UUIDs, and words that mix digits and letters, as in
 * `order:42` -> `order:*` and `cart:sku7:3f9a-b2` -> `cart:sku*:*-*`. A hand-written scan, because it runs for every new key.
 */
export function keyPattern(key: string): string {
  checkText('key', key)
  let pattern = ''
  let copied = 0
  let at = 0
  while (at < key.length) {
    const word = wordAt(key, at)
    if (word.end === at) {
      at++
      continue
    }
    const end = isUuid(key, at) ? at + UUID_LENGTH : word.end
    if (word.digits > 0 || end !== word.end) {
      pattern += `${key.slice(copied, keptUntil(word, at, end))}*`
      copied = end
    }
    at = end
  }
  return bounded(copied === 0 ? key : pattern + key.slice(copied))
}

interface Word {
  end: number
  digits: number
  firstDigit: number
  /** A letter follows a digit. */
  mixed: boolean
  hex: boolean
}

/** Reused for every word: its result is read before the next word is scanned. */
const seen: Word = { end: 0, digits: 0, firstDigit: 0, mixed: false, hex: true }

function wordAt(key: string, start: number): Word {
  seen.digits = 0
  seen.mixed = false
  seen.hex = true
  let at = start
  for (; at < key.length; at++) {
    const code = key.charCodeAt(at)
    if (code >= 48 && code <= 57) {
      if (seen.digits++ === 0) seen.firstDigit = at
    } else if ((code | 32) >= 97 && (code | 32) <= 122) {
      if (seen.digits > 0) seen.mixed = true
      if ((code | 32) > 102) seen.hex = false
    } else {
      break
    }
  }
  seen.end = at
  return seen
}

/** `sku7` keeps its letters; a word that looks like an id keeps nothing. */
function keptUntil({ mixed, hex, firstDigit, end: wordEnd }: Word, start: number, end: number): number {
  const length = end - start
  const isId = end !== wordEnd || mixed || length >= LONG_ID_LENGTH || (hex && length >= HEX_ID_LENGTH)
  return isId ? start : firstDigit
}

function isUuid(key: string, start: number): boolean {
  if (key.charCodeAt(start + UUID_WORDS[0]) !== DASH || key.length - start < UUID_LENGTH) return false
  let at = start
  for (const length of UUID_WORDS) {
    if (at > start && key.charCodeAt(at++) !== DASH) return false
    for (const end = at + length; at < end; at++) if (!isHex(key.charCodeAt(at))) return false
  }
  return true
}

function isHex(code: number): boolean {
  return (code >= 48 && code <= 57) || ((code | 32) >= 97 && (code | 32) <= 102)
}

function bounded(pattern: string): string {
  return pattern.length <= LONGEST_PATTERN ? pattern : `${pattern.slice(0, LONGEST_PATTERN - 1)}…`
}

/** At most so many patterns; keys that need a further one count as `other`. */
export class Patterns {
  private readonly known = new Set<string>()
  private readonly patternOf: (key: string) => string
  private readonly most: number

  constructor(patternOf: (key: string) => string, most: number) {
    this.patternOf = patternOf
    this.most = most
  }

  of(key: string): string {
    let pattern: string
    try {
      pattern = bounded(String(this.patternOf(key)))
    } catch {
      // A failing function of the user must not fail a lock.
      return OTHER
    }
    if (this.known.has(pattern)) return pattern
    if (this.known.size >= this.most) return OTHER
    this.known.add(pattern)
    return pattern
  }
}
