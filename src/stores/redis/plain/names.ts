const OURS = 'holdfast:'
const SIDE = `${OURS}plain:{`

/** A lock under its own key would stand among what Holdfast keeps for itself. */
export function isOurs(key: string): boolean {
  return key.startsWith(OURS)
}

/** Where Holdfast keeps what it knows of a plain lock: in the same slot, as far as a name can say that. */
export function sideName(key: string): string {
  return `${SIDE}${tagOf(key)}}:${key}`
}

/** The key of a side; null for any other name. */
export function keyOfSide(name: string): string | null {
  const end = name.indexOf('}:', SIDE.length)
  if (!name.startsWith(SIDE) || end < 0) return null
  const key = name.slice(end + 2)
  return sideName(key) === name ? key : null
}

/** What SCAN is asked for, to find the sides whose key begins with `prefix`; it may find others, too. */
export function sidePattern(prefix: string, clientPrefix: string): string {
  return `${glob(clientPrefix + SIDE)}*}:${glob(prefix)}*`
}

/** What Redis Cluster takes the slot of a key from. A whole key with a brace cannot be said as a tag. */
function tagOf(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key.replaceAll('}', '')
}

function glob(text: string): string {
  return text.replace(/[*?[\]\\^]/g, '\\$&')
}
