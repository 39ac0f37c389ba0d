/** The error codes of ZooKeeper that we tell apart. */
export const CODES = {
  RuntimeInconsistency: -2,
  ConnectionLoss: -4,
  Unimplemented: -6,
  NoNode: -101,
  NoAuth: -102,
  BadVersion: -103,
  NodeExists: -110,
  NotEmpty: -111,
  SessionExpired: -112,
  InvalidAcl: -114,
  AuthFailed: -115,
  SessionMoved: -118,
  /** Every session of this server must log in by SASL. */
  RequiresSasl: -124,
} as const

export type CodeName = keyof typeof CODES

const NAMES = new Map<number, CodeName>(Object.entries(CODES).map(([name, code]) => [code, name as CodeName]))

/** The error that a server answered, or the reason why there is no answer. */
export class WireError extends Error {
  readonly reason: CodeName | 'Other'

  constructor(reason: CodeName | 'Other', message: string) {
    super(message)
    this.name = 'ZooKeeperError'
    this.reason = reason
  }
}

export function answerError(code: number, about: string): WireError {
  const reason = NAMES.get(code) ?? 'Other'
  return new WireError(reason, `ZooKeeper: ${reason === 'Other' ? `error ${code}` : reason} (${about})`)
}

/** The outcome of the request is unknown: the connection ended before the answer. */
export function connectionLost(why: string): WireError {
  return new WireError('ConnectionLoss', `the connection to ZooKeeper was lost: ${why}`)
}

/** The session is over, and with it every ephemeral node that it made. */
export function sessionOver(why: string): WireError {
  return new WireError('SessionExpired', `the session with ZooKeeper is over: ${why}`)
}

export function isWire(error: unknown, ...reasons: readonly WireError['reason'][]): boolean {
  return error instanceof WireError && reasons.includes(error.reason)
}
