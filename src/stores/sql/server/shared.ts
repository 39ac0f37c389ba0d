import type { Store, StoreNotice } from '../../../core/store.ts'
import type { Claim } from '../../../model/index.ts'
import type { ServerStore } from './store.ts'

interface Opened {
  readonly store: Promise<ServerStore>
  users: number
}

const opened = new Map<string, Opened>()

/**
 * One store for all `Locks` of this process that name the same URL: many of them must not take all the connections that a server has. It is
 * closed with the last of them.
 */
export async function shareStore(name: string, open: () => Promise<ServerStore>): Promise<Store> {
  let shared = opened.get(name)
  if (shared === undefined) {
    shared = { store: open(), users: 0 }
    opened.set(name, shared)
  }
  const mine = shared
  mine.users++
  const leave = (): boolean => {
    mine.users--
    if (mine.users === 0 && opened.get(name) === mine) opened.delete(name)
    return mine.users === 0
  }
  try {
    return new StoreUse(await mine.store, leave)
  } catch (error) {
    leave()
    throw error
  }
}

class StoreUse implements Store {
  readonly traits
  readonly admin
  readonly records
  readonly transactions
  private readonly store: ServerStore
  private readonly leave: () => boolean
  private readonly unsubscribe: (() => void)[] = []
  private closed = false

  constructor(store: ServerStore, leave: () => boolean) {
    this.store = store
    this.leave = leave
    this.traits = store.traits
    this.admin = store.admin
    this.records = store.records
    this.transactions = store.transactions
  }

  attempt(claims: readonly Claim[]) {
    return this.store.attempt(claims)
  }

  renew(claims: readonly Claim[]) {
    return this.store.renew(claims)
  }

  release(claims: readonly Claim[]) {
    return this.store.release(claims)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    const stop = this.store.notices(listener)
    this.unsubscribe.push(stop)
    return stop
  }

  setCallTimeout(timeoutMs: number): void {
    this.store.setCallTimeout(timeoutMs)
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    for (const stop of this.unsubscribe) stop()
    if (this.leave()) await this.store.close()
  }
}
