const USER_INFO = /([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const SECRET_PARAMETER = /([?&;](?:\w*password|passwd|pwd|pass|secret|token|auth)=)[^\s&;]*/gi

/** The passwords inside a store's address, as written and as decoded: a client's message may repeat either. */
export function secretsOf(url: string): string[] {
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^\s/?#]*)@/i.exec(url)?.[1]
  // A user name is no secret, and a refusal is about it: also one that happens to be the password.
  const [user = '', ...password] = authority?.split(':') ?? []
  const parameters = [...url.matchAll(SECRET_PARAMETER)].map((match) => match[0].slice(match[1]!.length))
  return [password.join(':'), ...parameters]
    .flatMap((secret) => [secret, decoded(secret)])
    .filter((secret) => secret !== '' && secret !== decoded(user))
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
