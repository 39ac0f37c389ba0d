import type { Runtime } from '../../../src/core/runtime.ts'
import type { KeyView } from '../../../src/model/index.ts'
import type { AddressedNotification } from '../../../src/stores/quorum/node-model/state.ts'
import { timeoutMs } from '../../../src/stores/quorum/options.ts'
import { QuorumStore } from '../../../src/stores/quorum/store.ts'
import type { Backend, ClientStore } from '../backend.ts'
import type { Host } from '../host.ts'
import { Ledger } from '../ledger.ts'
import type { NodePlan } from '../plan.ts'
import type { ProtocolChecker } from '../protocol-checker.ts'
import type { Simulation } from '../simulation.ts'
import { LeakedVotes } from './leaked-votes.ts'
import { observed } from './observed.ts'
import { RemoteNode } from './remote.ts'
import { NodeServer } from './server.ts'

/** Independent servers that vote, and the real quorum store over them, once for each session of a client. */
export class QuorumServers implements Backend {
  private readonly simulation: Simulation
  private readonly servers: readonly NodeServer[]
  /** Where calls go: by inbox, one way back for each node. */
  private readonly inboxes = new Map<string, readonly RemoteNode[]>()

  constructor(simulation: Simulation, nodes: readonly NodePlan[]) {
    this.simulation = simulation
    const { world, fail } = simulation
    this.servers = nodes.map(
      (plan, node) =>
        new NodeServer(`n${node + 1}`, world, plan, new Ledger(fail), (notification) =>
          this.deliver(node, notification),
        ),
    )
  }

  open(client: string, _inbox: string, host: Host, runtime: Runtime, checker: ProtocolChecker): ClientStore {
    const { network, world, plan, fail } = this.simulation
    const leaked = new LeakedVotes(this.servers.length, fail, () => host.clock.nowMs())
    const nodes = this.servers.map(
      (server, node) => new RemoteNode(linkOf(client, node), host, network, server, node, leaked),
    )
    const store = new QuorumStore(nodes, runtime, timeoutMs)
    this.inboxes.set(store.inbox, nodes)
    return observed(store, nodes, host, world, checker, plan.callTimeoutMs)
  }

  links(client: string, node: number | undefined): readonly string[] {
    if (node !== undefined) return [linkOf(client, node)]
    return this.servers.map((_, each) => linkOf(client, each))
  }

  crash(untilUs: number, loss: boolean, node: number | undefined): void {
    for (const server of this.chosen(node)) server.crash(untilUs, loss)
  }

  freeze(untilUs: number, node: number | undefined): void {
    for (const server of this.chosen(node)) server.freeze(untilUs)
  }

  jump(byMs: number, node: number | undefined): void {
    for (const server of this.chosen(node)) server.jump(byMs)
  }

  heal(): void {
    for (const server of this.servers) server.heal()
  }

  inUse(): KeyView[] {
    return this.servers.flatMap((server) => server.inUse())
  }

  private chosen(node: number | undefined): readonly NodeServer[] {
    return node === undefined ? this.servers : this.servers.slice(node, node + 1)
  }

  private deliver(node: number, { inbox, notification }: AddressedNotification): void {
    this.inboxes.get(inbox ?? '')?.[node]?.receive(notification)
  }
}

function linkOf(client: string, node: number): string {
  return `${client}~n${node + 1}`
}
