import type { Claim } from '../../../model/index.ts'

export interface Holder {
  claim: Claim
  readonly sinceMs: number
  expiresAtMs: number
}

/** A claim that was told that the lock is taken, and means to ask again. */
export interface SessionWaiter {
  readonly key: string
  readonly sinceMs: number
}

/**
 * One lock of the session and the claims of this process behind it. The server counts how often a session took a lock and
 * lets it in every time, so who may hold it beside whom is decided here: the session holds it once, while there are holders.
 */
export class SessionLock {
  readonly name: string
  readonly holders = new Map<string, Holder>()
  readonly waiters = new Map<string, SessionWaiter>()

  constructor(name: string) {
    this.name = name
  }

  get first(): Holder | undefined {
    return this.holders.values().next().value
  }

  get shared(): boolean {
    return this.first?.claim.mode.kind === 'shared'
  }

  get empty(): boolean {
    return this.holders.size === 0 && this.waiters.size === 0
  }

  /** The hold of that claim; a key that happens to have the same name is not its key. */
  holderOf({ id, key }: Claim): Holder | undefined {
    const holder = this.holders.get(id)
    return holder?.claim.key === key ? holder : undefined
  }
}
