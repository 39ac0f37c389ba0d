import type { Runtime, Timer } from '../../../core/runtime.ts'
import type { ChannelListener, RedisClient, Subscription } from './client.ts'

/** The message that we send to ourselves; no notification begins like this. */
const PROBE = 'probe'
/** The first claims wait so long for the subscription; without it they go on and poll. */
const BEGIN_MS = 1000

interface NeededListener extends ChannelListener {
  /** True while somebody relies on messages: only then are probes sent. */
  needed(): boolean
}

/**
 * A subscription that never hangs. It is opened again in the background when it is not there within the deadline, or when a
 * message that we send to ourselves does not come back.
 */
export class ResilientSubscription implements Subscription {
  /** Settles when messages flow for the first time, and well before the deadline of the claims that wait for it. */
  readonly begun: Promise<void>
  private readonly client: RedisClient
  private readonly runtime: Runtime
  private readonly deadlineMs: number
  private readonly listener: NeededListener
  private subscription: Subscription
  private flows = false
  private heard = 0
  /** A probe did not come back. */
  private unheard = false
  private timer: Timer
  private settle: () => void = () => {}

  constructor(client: RedisClient, runtime: Runtime, deadlineMs: number, listener: NeededListener) {
    this.client = client
    this.runtime = runtime
    this.deadlineMs = deadlineMs
    this.listener = listener
    this.begun = new Promise((resolve) => {
      const patience = runtime.setTimer(() => this.settle(), Math.min(BEGIN_MS, deadlineMs / 2), true)
      this.settle = () => {
        patience.clear()
        resolve()
      }
    })
    this.subscription = this.open()
    this.timer = this.later()
  }

  async close(): Promise<void> {
    this.timer.clear()
    this.settle()
    await this.subscription.close()
  }

  private open(): Subscription {
    this.flows = false
    this.unheard = false
    const subscription = this.client.subscribe({
      channel: this.listener.channel,
      receive: (message) => this.receive(message),
      up: () => {
        if (subscription === this.subscription) this.up()
      },
    })
    void subscription.begun.then(this.settle)
    return subscription
  }

  private later(): Timer {
    return this.runtime.setTimer(() => this.look(), this.deadlineMs, true)
  }

  private look(): void {
    this.timer = this.later()
    if (!this.flows || this.unheard) {
      void this.subscription.close()
      this.subscription = this.open()
    } else if (this.listener.needed()) {
      void this.probe(this.subscription)
    }
  }

  /** Only a probe that the server has answered proves anything about the subscription. */
  private async probe(subscription: Subscription): Promise<void> {
    const before = this.heard
    try {
      const server = (await this.client.cluster?.masters())?.[0]?.client ?? this.client
      await server.send('PUBLISH', [this.listener.channel, PROBE])
    } catch {
      return
    }
    if (this.heard === before && subscription === this.subscription) this.unheard = true
  }

  private up(): void {
    this.flows = true
    this.unheard = false
    this.settle()
    this.listener.up()
  }

  private receive(message: string): void {
    this.heard++
    this.unheard = false
    if (message !== PROBE) this.listener.receive(message)
  }
}
