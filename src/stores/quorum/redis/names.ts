import { glob } from '../../redis/names.ts'

/** Apart from the locks of the Redis store, because a node may also serve as a store of its own. */
const QUORUM = 'holdfast:quorum:'

export function quorumName(key: string): string {
  return QUORUM + key
}

/** The key of a name, which may begin with a prefix of the client. */
export function keyOf(name: string): string {
  return name.slice(name.indexOf(QUORUM) + QUORUM.length)
}

/** The SCAN pattern for keys that begin with `prefix`. */
export function quorumPattern(prefix: string, clientPrefix: string): string {
  return `${glob(clientPrefix + QUORUM + prefix)}*`
}
