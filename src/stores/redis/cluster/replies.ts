/** Where the server says that a slot is. `once` is for this command alone: the slot is on the move. */
export interface Redirection {
  readonly once: boolean
  readonly host: string
  readonly port: number
}

/** What `MOVED 3999 127.0.0.1:6381` and `ASK 3999 127.0.0.1:6381` say; null for any other error. Nothing was done. */
export function redirectionOf(error: unknown): Redirection | null {
  if (!(error instanceof Error)) return null
  const [kind, , address = ''] = error.message.split(' ')
  if (kind !== 'MOVED' && kind !== 'ASK') return null
  const at = address.lastIndexOf(':')
  return { once: kind === 'ASK', host: address.slice(0, at), port: Number(address.slice(at + 1)) }
}

/** Of the keys of one command some have moved already and some have not. Nothing was done. */
export function isTorn(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('TRYAGAIN')
}

/** The server's own words about a script or a value; everything else may mean that the cluster has changed. */
export function isAboutScript(error: unknown): boolean {
  return (
    error instanceof Error && /^(?:NOSCRIPT|TRYAGAIN|HOLDFAST_|ERR |WRONGTYPE|NOPERM)/.test(error.message)
  )
}
