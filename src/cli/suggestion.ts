import { redact, secretsOf } from './secrets.ts'
import { shellWord } from './text.ts'

/** A command, or a text in quotes, which is somebody's key and left alone. */
const COMMAND = /'(?:[^']|'\\'')*'|"(?:[^"\\]|\\.)*"|\bholdfast (?:evict|reap|show|doctor|migrate)\b/g

/**
 * Puts the store of `--store` into every command of a text, so that it can be pasted. HOLDFAST_STORE is there still when it is.
 * An address with a password is shown without it, as a variable: arguments of a command can be read by others.
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
