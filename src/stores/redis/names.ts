/** Everything of ours in Redis begins with this, so that an ACL can name it: `~holdfast:* &holdfast:*`. */
const LOCK = 'holdfast:state:'
const RECORD = 'holdfast:record:'
const VERSION = 'holdfast:version:'
const STOCK = ['holdfast:stock:', 'holdfast:units:', 'holdfast:holds:']
const INBOX = 'holdfast:inbox:'
/** What Cluster takes for a hash tag: between the first brace and the first closing one behind it, if that is not empty. */
const TAGGED = /^[^{]*\{[^}]+\}/
const ESCAPED = /[%{}]/
const ESCAPES: Record<string, string> = { '%': '%25', '{': '%7B', '}': '%7D' }

/** The hash that says how a lock stands; lib/lock.lua makes the names of its other keys from this one. */
export function lockName(key: string): string {
  return LOCK + marked(key)
}

/** The keys of a record: the record itself, and the version that is remembered when it is gone. */
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

/** The key that a lock's name was made from; a client may have put a prefix of its own before the name. */
export function keyOfLock(name: string): string {
  const from = name.indexOf(LOCK) + LOCK.length
  if (name[from] === '=') return name.slice(from + 1)
  const key = name.slice(from + 1, -1)
  return key.includes('%') ? key.replace(/%25|%7B|%7D/g, decodeURIComponent) : key
}

/** What SCAN is asked for, to find the locks whose key begins with `prefix`, and a few more if that has braces. */
export function lockPattern(prefix: string, clientPrefix: string): string {
  const either = glob(prefix).replace(/%/g, '%*').replace(/[{}]/g, '*')
  return `${glob(clientPrefix + LOCK)}[{=]${either}*`
}

/** What SCAN is asked for, to find keys of other programs; only `*` has a meaning of its own in `pattern`. */
export function foreignPattern(pattern: string, clientPrefix: string): string {
  return glob(clientPrefix) + pattern.split('*').map(glob).join('*')
}

export function isOurs(name: string): boolean {
  return name.startsWith('holdfast:')
}

/** The parts of a stock beside the stock itself, and the stock that such a part belongs to. */
export const STOCK_PARTS = STOCK.slice(1)

export function stockOfPart(name: string): string[] {
  const start = STOCK_PARTS.find((part) => name.startsWith(part)) ?? ''
  return STOCK.map((each) => each + name.slice(start.length))
}

/**
 * Whatever letters a key has, everything about it lives in one slot: a key is its own hash tag, unless it brings one.
 * Keys that bring the same tag share a slot, as everywhere in Cluster.
 */
function marked(key: string): string {
  if (!ESCAPED.test(key)) return `{${key}}`
  if (TAGGED.test(key)) return `=${key}`
  return `{${key.replace(/[%{}]/g, (letter) => ESCAPES[letter] as string)}}`
}

function glob(text: string): string {
  return text.replace(/[*?[\]\\^]/g, '\\$&')
}
