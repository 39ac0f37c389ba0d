/** The server that has a slot. `once`: for this command alone, because the slot is moving. */
export interface Redirection {
  readonly once: boolean
  readonly host: string
  readonly port: number
}

/** Parses `MOVED 3999 127.0.0.1:6381` and `ASK 3999 127.0.0.1:6381`, after which nothing was done; null for any other error. */
export function redirectionOf(error: unknown): Redirection | null {
  if (!(error instanceof Error)) return null
  const [kind, , address = ''] = error.message.split(' ')
  if (kind !== 'MOVED' && kind !== 'ASK') return null
  const at = address.lastIndexOf(':')
  return { once: kind === 'ASK', host: address.slice(0, at), port: Number(address.slice(at + 1)) }
}

/** Some keys of the command have moved and others have not. Nothing was done. */
export function isTorn(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('TRYAGAIN')
}

/** The server's own words about a script or a value; everything else may mean that the cluster has changed. */
export function isAboutScript(error: unknown): boolean {
  return (
    error instanceof Error && /^(?:NOSCRIPT|TRYAGAIN|HOLDFAST_|ERR |WRONGTYPE|NOPERM)/.test(error.message)
  )
}
