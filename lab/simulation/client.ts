import type { CoreLocks, LeaseJson } from '../../src/core/api.ts'
import { StoreLocks } from '../../src/core/locks.ts'
import type { ClientStore } from './backend.ts'
import { Fiber } from './fiber.ts'
import { Host, HostRuntime } from './host.ts'
import type { ClientPlan } from './plan.ts'
import { ProtocolChecker } from './protocol-checker.ts'
import { Random } from './random.ts'
import type { Simulation } from './simulation.ts'

/** How long `close` may take beyond one call to the store that hangs. */
const CLOSE_MS = 1000

/** One `Locks` object and what it was given. */
interface Session {
  readonly locks: CoreLocks
  readonly runtime: HostRuntime
  readonly store: ClientStore
  readonly checker: ProtocolChecker
}

/** A user of the library: a process with its fibers, which may die and come back as another process. */
export class Client {
  readonly plan: ClientPlan
  readonly peers: readonly Client[]
  host: Host
  private readonly simulation: Simulation
  /** The step that each fiber is at; a restarted process goes on with the next. */
  private readonly progress: number[]
  private session: Session
  private lives = 0
  private sessions = 0

  constructor(simulation: Simulation, plan: ClientPlan, peers: readonly Client[]) {
    this.simulation = simulation
    this.plan = plan
    this.peers = peers
    this.progress = plan.fibers.map(() => 0)
    this.host = this.boot()
    this.session = this.openSession()
  }

  get locks(): CoreLocks {
    return this.session.locks
  }

  /** User code of this client got a lease. */
  had(id: string): void {
    this.session.checker.had(id)
  }

  start(): void {
    this.plan.fibers.forEach((steps, index) => {
      this.run(String(index), (fiber) => fiber.run(steps, this.progress, index))
    })
  }

  /** The process is gone at once, with all it knew. */
  kill(): void {
    for (const sighting of this.simulation.witness.open()) {
      if (sighting.host === this.host) this.simulation.witness.ended(sighting, 'killed')
    }
    this.simulation.world.note(this.host.name, 'is killed')
    this.host.kill()
  }

  restart(): void {
    if (this.host.alive) return
    this.host = this.boot()
    this.session = this.openSession()
    this.simulation.world.note(this.host.name, 'starts')
    this.start()
  }

  /** Another client hands over a lease. */
  receive(json: LeaseJson, holdMs: number): void {
    this.host.enter(() => this.run(`adopts ${json.id}`, (fiber) => fiber.adopt(json, holdMs)))
  }

  /** Begins one more line of work. */
  run(name: string, job: (fiber: Fiber) => Promise<void>): void {
    const { host } = this
    this.track(host, job(new Fiber(this.simulation, this, host, `${host.name}/${name}`)))
  }

  async reopen(): Promise<void> {
    const { session } = this
    await this.closeSession(session)
    if (this.session === session) this.session = this.openSession()
  }

  close(): Promise<void> {
    return this.closeSession(this.session)
  }

  private async closeSession({ locks, runtime, store, checker }: Session): Promise<void> {
    const { host, simulation } = this
    const settled = simulation.calls.begin(host, 'close', simulation.plan.callTimeoutMs * 2 + CLOSE_MS)
    simulation.world.note(host.name, 'closes its locks')
    await locks.close()
    settled()
    checker.closed()
    const { held, waiting } = locks.local()
    const left = { timers: runtime.pending.size, held, waiting, connection: store.isClosed ? 0 : 1 }
    if (Object.values(left).some((count) => count > 0)) {
      simulation.fail('left after close', `${host.name}: ${JSON.stringify(left)}`)
    }
  }

  /** A fiber of a dead process never ends; one of a living process must not fail. */
  private track(host: Host, running: Promise<void>): void {
    const { simulation } = this
    simulation.fibers.add(host)
    running.then(
      () => simulation.fibers.remove(host),
      (error) =>
        simulation.fail(
          'wrong error',
          `${host.name}: ${error instanceof Error ? error.stack : String(error)}`,
        ),
    )
  }

  private boot(): Host {
    const { world, plan } = this.simulation
    const name = this.lives === 0 ? this.plan.name : `${this.plan.name}.${this.lives}`
    this.lives++
    const random = new Random(plan.seed, `host ${name}`)
    return new Host(world, name, this.plan.skewPpm, random.whole(0, 1_000_000_000), random)
  }

  private openSession(): Session {
    const { host, simulation } = this
    const { world, backend, plan, fail } = simulation
    const inbox = `${host.name}@${++this.sessions}`
    const runtime = new HostRuntime(host)
    const checker = new ProtocolChecker(fail)
    const store = backend.open(this.plan.name, inbox, host, runtime, checker)
    const locks = new StoreLocks(store, {
      runtime,
      ttl: this.plan.ttlMs,
      handover: this.plan.handover,
      lockDelay: this.plan.lockDelayMs,
      callTimeout: plan.callTimeoutMs,
      label: host.name,
    })
    if (world.trace !== null) tell(simulation, host, locks)
    return { locks, runtime, store, checker }
  }
}

/** Events of the core, for the timeline. */
function tell({ world }: Simulation, { name }: Host, locks: CoreLocks): void {
  for (const event of [
    'waiting',
    'timeout',
    'lost',
    'renewFailed',
    'handedOver',
    'stalled',
    'releaseFailed',
  ] as const) {
    locks.on(event, (details) => {
      const about = 'key' in details ? `${details.key} ` : ''
      world.note(name, `${about}${event}${'cause' in details ? ` (${details.cause})` : ''}`)
    })
  }
}
