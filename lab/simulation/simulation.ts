import type { Backend } from './backend.ts'
import { Calls } from './calls.ts'
import type { Client } from './client.ts'
import { Fibers } from './fibers.ts'
import type { Host } from './host.ts'
import { Network } from './network.ts'
import type { Plan } from './plan.ts'
import { QuorumServers } from './quorum/servers.ts'
import { Register } from './register.ts'
import { SoleServer } from './single-server.ts'
import type { Fail, Violation } from './violation.ts'
import { Witness } from './witness.ts'
import { World } from './world.ts'

const SHORT_HOLD_MS = 20

/** The world that the clients of one run share. */
export class Simulation {
  readonly plan: Plan
  readonly world: World
  readonly network: Network
  readonly backend: Backend
  readonly witness: Witness
  readonly register: Register
  readonly calls: Calls
  violation: Violation | null = null
  /** Faults are over; waiters must be served. */
  healed = false
  /** After the healing nobody holds a lock for long, so that every waiter's turn comes. */
  longestHoldMs = Number.POSITIVE_INFINITY
  /** The writer that comes among readers after the healing, and if it was served. */
  writer: Client | null = null
  writerServed = false
  private readonly awaitingHealing: (() => void)[] = []
  readonly fibers = new Fibers()

  constructor(plan: Plan, tracing: boolean) {
    this.plan = plan
    this.world = new World(tracing)
    this.network = new Network(this.world, plan.seed, plan.linkFaults)
    this.witness = new Witness(this.world, this.fail)
    this.backend = plan.nodes === undefined ? new SoleServer(this) : new QuorumServers(this, plan.nodes)
    this.register = new Register(this.world, this.fail)
    this.calls = new Calls(this.world, this.fail)
  }

  /** The first violation ends the run: what comes after it may only be its consequence. */
  readonly fail: Fail = (invariant, what) => {
    if (this.violation !== null) return
    this.violation = { invariant, atUs: this.world.nowUs, what }
    this.world.note('witness', `${invariant}: ${what}`)
    this.world.stopped = true
  }

  heal(): void {
    this.healed = true
    this.longestHoldMs = SHORT_HOLD_MS
    this.network.heal()
    this.backend.heal()
    for (const resolve of this.awaitingHealing) resolve()
  }

  /** Settles in the host's own time once the world is healed. */
  healing(host: Host): Promise<void> {
    if (this.healed) return Promise.resolve()
    return new Promise((resolve) => {
      this.awaitingHealing.push(() => {
        this.world.schedule(this.world.nowUs, () => host.enter(resolve), false)
      })
    })
  }

  /** How much is left of the time in which the last waiter must be served. */
  get leftMs(): number {
    const { healAtMs, boundMs } = this.plan
    return Math.max(0, healAtMs + boundMs - Math.ceil(this.world.nowUs / 1000))
  }
}
