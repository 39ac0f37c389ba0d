const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const SECRET_PARAMETER = /([?&;](?:\w*password|passwd|pwd|pass|secret|token|auth)=)[^\s&;]*/gi

/** The passwords inside a store's address, as written and as decoded: a client's message may repeat either. */
export function secretsOf(url: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^\s/?#]*)@/i.exec(url)?.[1]
  const password = authority?.includes(':') ? authority.slice(authority.indexOf(':') + 1) : authority
  const parameters = [...url.matchAll(SECRET_PARAMETER)].map((match) => match[0].slice(match[1]!.length))
  return [password, ...parameters].flatMap((secret) => (secret ? [secret, decoded(secret)] : []))
}

/** The text without anything that could open the store. */
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
