import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { ChannelListener, Subscription } from '../clients/client.ts'
import type { Node } from './node.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500

/** One subscription at any master, since every message goes to all of them; it moves when that master is gone. */
export class RoamingSubscription implements Subscription {
  readonly begun: Promise<void>
  private readonly runtime: Runtime
  private readonly masters: () => Promise<readonly Node[]>
  private readonly listener: ChannelListener
  private readonly begin: () => void
  private current: { readonly node: Node; readonly subscription: Subscription } | null = null
  private last: Node | null = null
  private pauseMs = FIRST_PAUSE_MS
  private timer: Timer | null = null
  private closed = false

  constructor(runtime: Runtime, masters: () => Promise<readonly Node[]>, listener: ChannelListener) {
    this.runtime = runtime
    this.masters = masters
    this.listener = listener
    let begin = () => {}
    this.begun = new Promise((resolve) => {
      begin = resolve
    })
    this.begin = begin
    void this.settle()
  }

  /** Leaves a server that is no longer a master: it may have been cut off. */
  review(masters: readonly Node[]): void {
    if (this.current !== null && !masters.includes(this.current.node)) this.leave()
  }

  async close(): Promise<void> {
    this.closed = true
    this.timer?.clear()
    this.begin()
    await this.current?.subscription.close()
  }

  private async settle(): Promise<void> {
    const masters = await this.masters().catch(() => [])
    if (this.closed) return
    const others = masters.filter((node) => node !== this.last)
    const candidates = others.length > 0 ? others : masters
    const node = candidates[Math.floor(this.runtime.random() * candidates.length)]
    if (node === undefined) {
      this.later()
      return
    }
    const down = () => {
      if (this.current?.subscription === subscription) this.leave()
    }
    const subscription = node.client.subscribe({ ...this.listener, up: () => this.flowing(), down })
    this.current = { node, subscription }
    this.last = node
  }

  private flowing(): void {
    this.pauseMs = FIRST_PAUSE_MS
    this.begin()
    this.listener.up()
  }

  private leave(): void {
    void this.current?.subscription.close()
    this.current = null
    if (!this.closed) this.later()
  }

  private later(): void {
    // The first try has failed, and `begun` settles with it.
    this.begin()
    this.timer = this.runtime.setTimer(() => void this.settle(), this.pauseMs, true)
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS)
  }
}
