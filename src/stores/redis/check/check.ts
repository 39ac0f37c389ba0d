import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Store, StoreNotice, StoreWarning } from '../../../core/store.ts'
import type { RedisClient } from '../clients/client.ts'
import { reachableServers } from '../cluster/reachable.ts'
import { factsOf } from './facts.ts'
import { findingsOf } from './findings.ts'

/** Lets the first locks go first; a process that ends earlier gets no warnings. */
const DELAY_MS = 1000

type Listener = (notice: StoreNotice) => void

/** Checks the server once, off the locking path, and warns of settings that its operator should change. */
export class ServerCheck {
  private readonly client: RedisClient
  private readonly runtime: Runtime
  private readonly wait: number
  private readonly listeners = new Set<Listener>()
  private timer: Timer | null = null
  private found: readonly StoreWarning[] = []
  private closed = false

  constructor(client: RedisClient, runtime: Runtime, replicasToWaitFor: number) {
    this.client = client
    this.runtime = runtime
    this.wait = replicasToWaitFor
  }

  /** Adds warnings to the notifications of the store. */
  attachTo(store: Store): Store {
    const notices = store.notices.bind(store)
    const close = store.close.bind(store)
    store.notices = (listener) => {
      const stop = notices(listener)
      this.listen(listener)
      return () => {
        stop()
        this.listeners.delete(listener)
      }
    }
    store.close = () => {
      this.closed = true
      this.timer?.clear()
      return close()
    }
    return store
  }

  private listen(listener: Listener): void {
    this.listeners.add(listener)
    if (this.found.length > 0)
      this.runtime.defer(() => {
        if (this.listeners.has(listener)) for (const warning of this.found) listener(warning)
      })
    this.timer ??= this.runtime.setTimer(() => void this.look().catch(() => {}), DELAY_MS, true)
  }

  /** Errors are ignored: the locking path reports a server that is gone. */
  private async look(): Promise<void> {
    const { servers } = await reachableServers(this.client, this.runtime)
    const facts = await Promise.all(servers.map((server) => factsOf(server, this.runtime)))
    if (this.closed) return
    this.found = facts.flatMap((each) => findingsOf(each, this.wait))
    for (const listener of this.listeners) for (const warning of this.found) listener(warning)
  }
}
