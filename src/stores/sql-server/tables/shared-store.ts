import type { Store, StoreNotice } from '../../../core/store.ts'
import type { Claim } from '../../../model/index.ts'
import type { ServerStore } from './store.ts'

interface SharedEntry<S> {
  /** The options that distinguish it from other stores over the same pool. */
  readonly options: readonly unknown[]
  readonly store: S
  users: number
}

const byUrl: SharedEntry<Promise<ServerStore>>[] = []
const byPool = new WeakMap<object, SharedEntry<ServerStore>[]>()

/**
 * One store for all `Locks` of this process with the same URL, so that many of them do not take all the connections of a server. It is
 * closed with the last of them.
 */
export async function shareByUrl(
  url: string,
  callTimeoutMs: number | undefined,
  open: () => Promise<ServerStore>,
): Promise<Store> {
  const [store, leave] = enter(byUrl, [url, callTimeoutMs], open)
  try {
    return new SharedStore(await store, leave)
  } catch (error) {
    leave()
    throw error
  }
}

/** The same for the same pool with the same options. */
export function shareByPool(pool: object, options: readonly unknown[], open: () => ServerStore): Store {
  const shared = byPool.get(pool) ?? []
  const use = new SharedStore(...enter(shared, options, open))
  byPool.set(pool, shared)
  return use
}

/** Counts one more user. The second result counts one less, and returns whether it was the last. */
function enter<S>(
  shared: SharedEntry<S>[],
  options: readonly unknown[],
  open: () => S,
): [store: S, leave: () => boolean] {
  let mine = shared.find((one) => one.options.every((option, index) => option === options[index]))
  if (mine === undefined) {
    mine = { options, store: open(), users: 0 }
    shared.push(mine)
  }
  const entered = mine
  entered.users++
  const leave = (): boolean => {
    entered.users--
    if (entered.users > 0) return false
    shared.splice(shared.indexOf(entered), 1)
    return true
  }
  return [entered.store, leave]
}

class SharedStore implements Store {
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
