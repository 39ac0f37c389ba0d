import type { Runtime } from '../../../core/runtime.ts'
import type { Admin } from '../../../core/store.ts'
import { quote, UnsupportedError } from '../../../errors.ts'
import type { Claim, EvictAnswer, HolderView, KeyView } from '../../../model/index.ts'
import type { AdvisorySession } from './session.ts'
import type { Holder, SessionLocks } from './session-locks.ts'
import type { SeenHolder, SessionServer } from './session-server.ts'

/** An operator's power over the holds of this process. */
interface Force {
  evict(claim: Claim): Promise<void>
  revoke(claim: Claim): void
}

/** The server knows a number for each lock and a connection for each holder; the rest is known of this process only. */
export class AdvisoryAdmin implements Admin {
  private readonly server: SessionServer
  private readonly locks: SessionLocks
  private readonly session: AdvisorySession
  private readonly runtime: Runtime
  private readonly force: Force

  constructor(
    server: SessionServer,
    locks: SessionLocks,
    session: AdvisorySession,
    runtime: Runtime,
    force: Force,
  ) {
    this.server = server
    this.locks = locks
    this.session = session
    this.runtime = runtime
    this.force = force
  }

  async read(key: string): Promise<KeyView> {
    const others = await this.session.holders(this.server.nameOf(key))
    const own = this.ownHolders(key).map((holder) => this.holderView(holder))
    return {
      key,
      holders: [...own, ...others.map(strangerView)],
      queue: [],
      token: null,
      limit: null,
      closedForMs: 0,
    }
  }

  /** Lists the holds of this process only: the server does not know the names of keys. */
  async *list(prefix: string): AsyncIterable<KeyView> {
    const keys = new Set([...this.locks.holders()].map(({ claim }) => claim.key))
    for (const key of [...keys].sort()) if (key.startsWith(prefix)) yield this.read(key)
  }

  async evict(key: string, token: bigint | null, ask: boolean): Promise<EvictAnswer> {
    // There are no tokens, so a token matches no hold.
    if (token !== null) return { kind: 'absent', labels: [] }
    const [stranger] = await this.session.holders(this.server.nameOf(key))
    if (stranger !== undefined) {
      const { label } = stranger
      throw new UnsupportedError(
        `${quote(key)} is held by ${label}: a session lock ends by its own process, or with that connection`,
      )
    }
    const own = this.ownHolders(key)
    for (const { claim } of own) {
      if (ask) this.force.revoke(claim)
      else await this.force.evict(claim)
    }
    return { kind: own.length === 0 ? 'absent' : 'evicted', labels: own.map(({ claim }) => claim.label) }
  }

  private ownHolders(key: string): readonly Holder[] {
    const lock = this.locks.locks.get(this.server.nameOf(key))
    return [...(lock?.holders.values() ?? [])].filter(({ claim }) => claim.key === key)
  }

  private holderView({ claim, sinceMs, expiresAtMs }: Holder): HolderView {
    const nowMs = this.runtime.nowMs()
    return {
      label: claim.label,
      owner: null,
      actor: claim.actor,
      mode: claim.mode.kind,
      weight: 1,
      token: null,
      heldMs: nowMs - sinceMs,
      expiresInMs: expiresAtMs - nowMs,
      meta: claim.meta,
    }
  }
}

function strangerView({ label, shared }: SeenHolder): HolderView {
  return {
    label,
    owner: null,
    actor: null,
    mode: shared ? 'shared' : 'exclusive',
    weight: 1,
    token: null,
    heldMs: null,
    expiresInMs: null,
    meta: null,
  }
}
