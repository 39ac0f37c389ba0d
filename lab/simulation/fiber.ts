import type { Lease, LeaseJson, Mutex, PermitOptions } from '../../src/core/api.ts'
import { LockError } from '../../src/errors.ts'
import type { Client } from './client.ts'
import { finale } from './finale.ts'
import type { Host } from './host.ts'
import type { Ask, Step, Take } from './plan.ts'
import type { Simulation } from './simulation.ts'
import { WorkError, work } from './work.ts'

/** How long `adopt` goes on when the store cannot be reached. */
const DEFAULT_WAIT_MS = 10_000

class Cancelled extends Error {}

/** Errors that a call may end with under faults; anything else is a bug of the library. */
const EXPECTED = new Set(['LOCK_TIMEOUT', 'LEASE_LOST', 'STORE_UNAVAILABLE', 'CLOSED'])

/** One line of work inside a client: its steps, one after the other, as user code would write them. */
export class Fiber {
  readonly simulation: Simulation
  readonly client: Client
  readonly host: Host
  readonly name: string
  private calls = 0

  constructor(simulation: Simulation, client: Client, host: Host, name: string) {
    this.simulation = simulation
    this.client = client
    this.host = host
    this.name = name
  }

  /** Goes on from `progress[index]`, until the healing; then comes the finale. */
  async run(steps: readonly Step[], progress: number[], index: number): Promise<void> {
    for (;;) {
      const step = steps[progress[index] as number]
      if (step === undefined || this.simulation.healed) break
      progress[index] = (progress[index] as number) + 1
      await this.host.sleep(step.thinkMs)
      if (this.simulation.healed) break
      await this.perform(step)
    }
    await this.simulation.healing(this.host)
    await finale(this, index)
  }

  async adopt(json: LeaseJson, holdMs: number): Promise<void> {
    const { host, simulation } = this
    const settled = simulation.calls.begin(host, `adopt ${json.key}`, DEFAULT_WAIT_MS)
    const askedUs = simulation.world.nowUs
    await this.expecting(async () => {
      const lease = await this.client.locks.adopt(json).finally(settled)
      const ask: Ask = json.mode === 'shared' ? { kind: 'read' } : { kind: 'mutex' }
      await work(this, lease, {
        ask,
        key: json.key,
        party: this.nextParty(),
        askedUs,
        holdMs,
        writes: 1,
        obeys: true,
      })
      await lease.release()
    })
  }

  /** Takes a lock and works under it; true when it was had. */
  async take(step: Take): Promise<boolean> {
    const { simulation, host } = this
    const { world, plan } = simulation
    const mutex = this.mutexOf(step)
    const party = step.owner === null ? this.nextParty() : `owner ${step.owner}`
    const askedUs = world.nowUs
    const waitMs = step.way === 'try' ? 0 : (step.waitMs ?? Number.POSITIVE_INFINITY)
    const settled = simulation.calls.begin(
      host,
      `${step.way} ${step.key}`,
      waitMs === 0 ? plan.callTimeoutMs : waitMs,
    )
    const options = { ...this.optionsOf(step), wait: waitMs }
    let had = false
    const job = (lease: Lease): Promise<void> => {
      settled()
      had = true
      return work(this, lease, { ...step, party, askedUs, step })
    }
    await this.expecting(async () => {
      if (step.way === 'using') {
        await mutex.using({ ...options, reentrant: step.twist.kind === 'reenter' }, job)
        return
      }
      const lease = await (step.way === 'try' ? mutex.tryAcquire(options) : mutex.acquire(options))
      if (lease === null) return
      try {
        await job(lease)
      } finally {
        await this.release(lease, step)
      }
    })
    settled()
    return had
  }

  async perform(step: Step): Promise<void> {
    const { locks } = this.client
    switch (step.kind) {
      case 'take':
        await this.take(step)
        return
      case 'takeAll':
        await this.takeAll(step)
        return
      case 'evict':
        await this.expecting(async () => {
          await locks.evict(step.key)
        })
        return
      case 'reopen':
        await this.expecting(() => this.client.reopen())
    }
  }

  private async takeAll({ keys, waitMs, holdMs }: Step & { kind: 'takeAll' }): Promise<void> {
    const { simulation, host } = this
    // The attempt at all of them at once, and the roll-back, each take one call to the store more.
    const settled = simulation.calls.begin(
      host,
      `all ${keys.join(' ')}`,
      waitMs + 2 * simulation.plan.callTimeoutMs,
    )
    const askedUs = simulation.world.nowUs
    await this.expecting(async () => {
      const group = await this.client.locks.all(keys, { wait: waitMs }).finally(settled)
      const ask: Ask = { kind: 'mutex' }
      const each = { ask, askedUs, holdMs, writes: 1, obeys: true }
      await Promise.all(
        group.leases.map((lease) => work(this, lease, { ...each, key: lease.key, party: this.nextParty() })),
      )
      await group.release()
    })
  }

  private async release(lease: Lease, { twist }: Take): Promise<void> {
    const settled = this.simulation.calls.begin(
      this.host,
      `release ${lease.key}`,
      this.simulation.plan.callTimeoutMs * 2,
    )
    await lease.release().finally(settled)
    if (twist.kind !== 'releaseTwice') return
    await this.host.sleep(twist.afterMs)
    await lease.release()
  }

  /** Lets pass what a user must be ready for. */
  private async expecting(action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      if (error instanceof Cancelled || error instanceof WorkError) return
      if (error instanceof LockError && EXPECTED.has(error.code)) return
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.simulation.fail('wrong error', `${this.name}: ${what}`)
    }
  }

  private optionsOf(step: Take): PermitOptions {
    const { ask, ttlMs, renew, maxHoldMs, spinMs, background, owner, cancelAfterMs } = step
    const options: PermitOptions = { ttl: ttlMs, renew }
    if (ask.kind === 'permits') options.weight = ask.weight
    if (maxHoldMs !== null) options.maxHold = maxHoldMs
    if (spinMs !== null) options.retry = { spin: spinMs }
    if (background) options.release = 'background'
    if (owner !== null) options.owner = owner
    if (cancelAfterMs !== null) {
      const controller = new AbortController()
      this.host.after(cancelAfterMs, () => controller.abort(new Cancelled()))
      options.signal = controller.signal
    }
    return options
  }

  private mutexOf({ ask, key }: Take): Mutex<PermitOptions> {
    const { locks } = this.client
    switch (ask.kind) {
      case 'mutex':
        return locks.mutex(key)
      case 'read':
        return locks.rw(key).read
      case 'write':
        return locks.rw(key).write as unknown as Mutex<PermitOptions>
      case 'permits':
        return locks.semaphore(key, { limit: ask.limit })
    }
  }

  private nextParty(): string {
    return `${this.name} call ${++this.calls}`
  }
}
