import { shellWord } from './text.ts'

const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const SECRET_PARAMETER = /([?&;](?:\w*password|passwd|pwd|pass|secret|token|auth)=)[^\s&;]*/gi

/** The passwords in a store's URL, as written and as decoded: a client's message may repeat either. */
export function secretsOf(url: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^\s/?#]*)@/i.exec(url)?.[1]
  // A user name is not secret, and a refusal names it, even if it equals the password.
  const [user = '', ...password] = authority?.split(':') ?? []
  const parameters = [...url.matchAll(SECRET_PARAMETER)].map((match) => match[0].slice(match[1]!.length))
  return [password.join(':'), ...parameters]
    .flatMap((secret) => [secret, decoded(secret)])
    .filter((secret) => secret !== '' && secret !== decoded(user))
}

/** The text without the passwords of the store. */
export function redact(text: string, secrets: readonly string[]): string {
  const hidden = text.replace(USER_INFO, '$1***@').replace(SECRET_PARAMETER, '$1***')
  return secrets
    .filter((secret) => secret.length > 2)
    .reduce((shown, secret) => shown.replaceAll(secret, '***'), hidden)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

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
