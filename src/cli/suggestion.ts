import { redact, secretsOf } from './secrets.ts'
import { shellWord } from './text.ts'

/** A command, or a quoted text, which is somebody's key and stays as it is. */
const COMMAND = /'(?:[^']|'\\'')*'|"(?:[^"\\]|\\.)*"|\bholdfast (?:evict|reap|show|doctor|migrate)\b/g

/**
 * Adds the store of `--store` to every command of a text, so that it can be pasted; HOLDFAST_STORE needs no such help. A URL
 * with a password is replaced by a variable: other users can read the arguments of a command.
 */
export function suggestion(text: string, store: string | undefined): string {
  if (store === undefined) return text
  const secrets = secretsOf(store)
  return text.replace(COMMAND, (match) => {
    if (/^['"]/.test(match)) return match
    return secrets.length === 0
      ? `${match} --store ${shellWord(store)}`
      : `HOLDFAST_STORE=${shellWord(redact(store, secrets))} ${match}`
  })
}
