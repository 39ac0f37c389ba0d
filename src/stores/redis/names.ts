/** Everything of ours in Redis begins with this, so that an ACL can name it: `~holdfast:* &holdfast:*`. */
const LOCK = 'holdfast:lock:{'
const RECORD = 'holdfast:record:{'
const STOCK = ['holdfast:stock:{', 'holdfast:units:{', 'holdfast:holds:{']
const INBOX = 'holdfast:inbox:'
const ESCAPED = /[%{}]/
const ESCAPES: Record<string, string> = { '%': '%25', '{': '%7B', '}': '%7D' }

/** A key is its own hash tag, so that everything about it lives in one slot, whatever letters it has. */
export function lockName(key: string): string {
  return `${LOCK}${escaped(key)}}`
}

export function recordName(key: string): string {
  return `${RECORD}${escaped(key)}}`
}

/** The keys of a stock: the stock itself, its named units, and when its holds end. */
export function stockNames(key: string): string[] {
  return STOCK.map((start) => `${start}${escaped(key)}}`)
}

export function inboxChannel(inbox: string): string {
  return INBOX + inbox
}

/** The key that a lock's name was made from; a client may have put a prefix of its own before the name. */
export function keyOfLock(name: string): string {
  const from = name.indexOf(LOCK) + LOCK.length
  return name.slice(from, -1).replace(/%25|%7B|%7D/g, decodeURIComponent)
}

/** What SCAN is asked for, to find the locks whose key begins with `prefix`. */
export function lockPattern(prefix: string, clientPrefix: string): string {
  return `${glob(clientPrefix + LOCK + escaped(prefix))}*`
}

function escaped(key: string): string {
  return ESCAPED.test(key) ? key.replace(/[%{}]/g, (letter) => ESCAPES[letter] as string) : key
}

function glob(text: string): string {
  return text.replace(/[*?[\]\\^]/g, '\\$&')
}
