/** Apart from the locks of the Redis store: a server that votes may serve as a store of its own, too. */
const QUORUM = 'holdfast:quorum:'
const INBOX = 'holdfast:inbox:'

export function quorumName(key: string): string {
  return QUORUM + key
}

export function inboxChannel(inbox: string): string {
  return INBOX + inbox
}

/** The key that a name was made from; a client may have put a prefix of its own before the name. */
export function keyOf(name: string): string {
  return name.slice(name.indexOf(QUORUM) + QUORUM.length)
}

/** What SCAN is asked for, to find the keys that begin with `prefix`. */
export function quorumPattern(prefix: string, clientPrefix: string): string {
  return `${(clientPrefix + QUORUM + prefix).replace(/[*?[\]\\^]/g, '\\$&')}*`
}
