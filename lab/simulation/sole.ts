import type { Runtime } from '../../src/core/runtime.ts'
import type { KeyNotification, KeyView } from '../../src/model/index.ts'
import type { Backend, ClientStore } from './backend.ts'
import type { Host } from './host.ts'
import { Ledger } from './ledger.ts'
import type { Manners } from './manners.ts'
import type { Call } from './plan.ts'
import { Server } from './server.ts'
import type { Simulation } from './simulation.ts'
import { RemoteStore } from './store.ts'

/** One server, and the stores through which the clients reach it. */
export class SoleServer implements Backend {
  private readonly simulation: Simulation
  private readonly server: Server
  /** Where letters go, by inbox. */
  private readonly inboxes = new Map<string, RemoteStore>()

  constructor(simulation: Simulation) {
    this.simulation = simulation
    const { world, plan, fail } = simulation
    this.server = new Server(world, plan.server, new Ledger(fail), (letter) => this.deliver(letter))
  }

  open(client: string, inbox: string, host: Host, _runtime: Runtime, manners: Manners): ClientStore {
    const { world, network, plan } = this.simulation
    const store = new RemoteStore(
      client,
      inbox,
      host,
      world,
      network,
      this.server,
      manners,
      plan.callTimeoutMs,
    )
    this.inboxes.set(inbox, store)
    return store
  }

  links(client: string): readonly string[] {
    return [client]
  }

  crash(untilUs: number, loss: boolean): void {
    this.server.crash(untilUs, loss)
  }

  freeze(untilUs: number): void {
    this.server.freeze(untilUs)
  }

  full(untilUs: number): void {
    this.server.full(untilUs)
  }

  doubt(call: Call, member: number, done: boolean): void {
    this.server.doubt({ call, member, done })
  }

  jump(byMs: number): void {
    this.server.jump(byMs)
  }

  heal(): void {
    this.server.heal()
  }

  inUse(): KeyView[] {
    return this.server.inUse()
  }

  private deliver({ key, inbox, notice }: KeyNotification): void {
    const { world, witness } = this.simulation
    if (notice.kind === 'lost' && notice.cause !== 'expired') witness.depose(notice.id)
    if (world.trace !== null) world.note('server', `tells ${inbox} about ${key}: ${notice.kind} ${notice.id}`)
    const store = inbox === null ? undefined : this.inboxes.get(inbox)
    store?.receive({ ...notice, key })
  }
}
