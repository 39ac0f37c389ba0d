import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { Outlet } from './channel.ts'
import type { Cluster } from './cluster.ts'
import { cancelRequest, type WatchRequest, watchRequest } from './requests.ts'
import { type KeyEvent, watchResponse } from './responses.ts'

export interface WatchListener {
  changed(events: readonly KeyEvent[]): void
  /** etcd has compacted the events since the watch began: read the keys again. */
  missed(): void
}

interface Watch {
  readonly listener: WatchListener
  wanted: Omit<WatchRequest, 'id'>
}

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1000

/** The one stream on which a store watches keys. After it breaks, every watch resumes at its last revision. */
export class WatchStream {
  private readonly cluster: Cluster
  private readonly runtime: Runtime
  private readonly watches = new Map<number, Watch>()
  private outlet: Outlet | null = null
  private opening = false
  private closed = false
  private last = 0
  private pause: Timer | null = null
  private pauseMs = 0

  constructor(cluster: Cluster, runtime: Runtime) {
    this.cluster = cluster
    this.runtime = runtime
  }

  /** Returns the way to stop. */
  watch(wanted: Watch['wanted'], listener: WatchListener): () => void {
    const id = ++this.last
    this.watches.set(id, { wanted, listener })
    if (this.outlet !== null) this.outlet.send(watchRequest({ ...wanted, id }))
    else this.open()
    return () => {
      if (this.watches.delete(id)) this.outlet?.send(cancelRequest(id))
    }
  }

  close(): void {
    this.closed = true
    this.watches.clear()
    this.pause?.clear()
    this.outlet?.close()
    this.outlet = null
  }

  private open(): void {
    if (this.opening || this.closed || this.pause !== null || this.watches.size === 0) return
    this.opening = true
    const sink = { message: (body: Buffer) => this.receive(body), end: () => this.broke() }
    this.cluster.stream('/etcdserverpb.Watch/Watch', sink).then(
      (outlet) => this.opened(outlet),
      () => this.broke(),
    )
  }

  private opened(outlet: Outlet): void {
    this.opening = false
    if (this.closed) {
      outlet.close()
      return
    }
    this.outlet = outlet
    for (const [id, { wanted }] of this.watches) outlet.send(watchRequest({ ...wanted, id }))
  }

  /** Reopens after a pause, which grows until an event arrives. */
  private broke(): void {
    this.opening = false
    this.outlet = null
    if (this.closed || this.pause !== null) return
    const again = (): void => {
      this.pause = null
      this.open()
    }
    this.pause = this.runtime.setTimer(again, this.pauseMs, true)
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, this.pauseMs * 2))
  }

  private receive(body: Buffer): void {
    const { id, canceled, compacted, events } = watchResponse(body)
    const watch = this.watches.get(id)
    if (watch === undefined) return
    if (canceled) {
      if (compacted > 0) {
        this.watches.delete(id)
        watch.listener.missed()
      } else {
        // etcd refused the watch, perhaps for an expired token: reopen the stream with all watches.
        this.cluster.distrustToken()
        this.outlet?.close()
      }
      return
    }
    this.pauseMs = 0
    const latest = events.at(-1)
    if (latest === undefined) return
    watch.wanted = { ...watch.wanted, fromRevision: latest.kv.changed + 1 }
    watch.listener.changed(events)
  }
}
