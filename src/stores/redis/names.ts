/** Everything of ours in Redis begins with this, so that an ACL can name it: `~holdfast:* &holdfast:*`. */
const LOCK = 'holdfast:state:'
const RECORD = 'holdfast:record:'
const VERSION = 'holdfast:version:'
const STOCK = ['holdfast:stock:', 'holdfast:units:', 'holdfast:holds:']
const INBOX = 'holdfast:inbox:'
/** A hash tag of Cluster: the text between the first brace and the next closing one, unless it is empty. */
const TAGGED = /^[^{]*\{[^}]+\}/
const ESCAPED = /[%{}]/
const ESCAPES: Record<string, string> = { '%': '%25', '{': '%7B', '}': '%7D' }

/** The hash with the state of a lock; lib/lock.lua derives the names of its other keys from this one. */
export function lockName(key: string): string {
  return LOCK + marked(key)
}

/** The keys of a record: the record itself, and its last version, which outlives it. */
export function recordNames(key: string): readonly [string, string] {
  return [RECORD + marked(key), VERSION + marked(key)]
}

/** The keys of a stock: the stock itself, its named units, and when its holds end. */
export function stockNames(key: string): string[] {
  return STOCK.map((start) => start + marked(key))
}

export function inboxChannel(inbox: string): string {
  return INBOX + inbox
}

/** The key of a lock's name, which may begin with a prefix of the client. */
export function keyOfLock(name: string): string {
  const from = name.indexOf(LOCK) + LOCK.length
  if (name[from] === '=') return name.slice(from + 1)
  const key = name.slice(from + 1, -1)
  return key.includes('%') ? key.replace(/%25|%7B|%7D/g, decodeURIComponent) : key
}

/** The SCAN pattern for locks whose key begins with `prefix`; a prefix with braces also matches a few others. */
export function lockPattern(prefix: string, clientPrefix: string): string {
  const either = glob(prefix).replace(/%/g, '%*').replace(/[{}]/g, '*')
  return `${glob(clientPrefix + LOCK)}[{=]${either}*`
}

/** The SCAN pattern for keys of other programs; only `*` is special in `pattern`. */
export function foreignPattern(pattern: string, clientPrefix: string): string {
  return glob(clientPrefix) + pattern.split('*').map(glob).join('*')
}

export function isOurs(name: string): boolean {
  return name.startsWith('holdfast:')
}

/** The keys of a stock besides the stock itself. */
export const STOCK_PARTS = STOCK.slice(1)

export function stockOfPart(name: string): string[] {
  const start = STOCK_PARTS.find((part) => name.startsWith(part)) ?? ''
  return STOCK.map((each) => each + name.slice(start.length))
}

/**
 * Everything about a key lives in one slot: a key is its own hash tag unless it contains one. Keys with the same tag share a
 * slot, as everywhere in Cluster.
 */
function marked(key: string): string {
  if (!ESCAPED.test(key)) return `{${key}}`
  if (TAGGED.test(key)) return `=${key}`
  return `{${key.replace(/[%{}]/g, (letter) => ESCAPES[letter] as string)}}`
}

/** A part of a SCAN pattern that matches only itself. */
export function glob(text: string): string {
  return text.replace(/[*?[\]\\^]/g, '\\$&')
}
