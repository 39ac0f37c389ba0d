import { glob } from '../names.ts'

const STATE = 'holdfast:plain:state:{'

/**
 * The hash of what Holdfast knows of a plain lock; lib/plain.lua makes the names of its other keys from this one. In the slot of the lock, as
 * far as a name can say that.
 */
export function stateName(key: string): string {
  return `${STATE}${tagOf(key)}}:${key}`
}

/** The key of a state; null for any other name. */
export function keyOfState(name: string): string | null {
  const end = name.indexOf('}:', STATE.length)
  if (!name.startsWith(STATE) || end < 0) return null
  const key = name.slice(end + 2)
  return stateName(key) === name ? key : null
}

/** The pattern for SCAN to find the states whose key begins with `prefix`; it may find others, too. */
export function statePattern(prefix: string, clientPrefix: string): string {
  return `${glob(clientPrefix + STATE)}*}:${glob(prefix)}*`
}

/** The part of a key that Redis Cluster takes its slot from. A whole key with a brace cannot be said as a tag. */
function tagOf(key: string): string {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  return close > open + 1 ? key.slice(open + 1, close) : key.replaceAll('}', '')
}
