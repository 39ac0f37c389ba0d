import { Client } from './client.ts'
import type { Fault, Plan } from './plan.ts'
import { Simulation } from './simulation.ts'
import { starvation } from './starvation.ts'
import type { Violation } from './violation.ts'
import { RunawayError, type TraceLine } from './world.ts'

/** A message may be this late; a claim that comes that late lives for its ttl once more. */
const LATEST_MESSAGE_MS = 8000
const CLOSE_MS = 15_000
/** A fault that began within the bound may end shortly after it. */
const LAST_CALLS_MS = 1000

export interface Report {
  readonly seed: number
  readonly violation: Violation | null
  /** The same for two runs of the same plan on the same sources. */
  readonly digest: string
  readonly virtualMs: number
  readonly events: number
  readonly faults: number
  readonly grants: number
  readonly lost: number
  readonly doubled: number
  readonly refusedWrites: number
  readonly trace: readonly TraceLine[]
}

/** Runs a plan from beginning to end. */
export async function run(plan: Plan, tracing = false): Promise<Report> {
  const simulation = new Simulation(plan, tracing)
  const { world, network, register, witness } = simulation
  const onRejection = (reason: unknown): void => {
    simulation.fail(
      'unhandled rejection',
      reason instanceof Error ? (reason.stack ?? reason.message) : String(reason),
    )
  }
  process.on('unhandledRejection', onRejection)
  try {
    await play(simulation)
  } catch (error) {
    if (!(error instanceof RunawayError)) throw error
    simulation.fail('runaway', error.message)
  } finally {
    process.off('unhandledRejection', onRejection)
  }
  return {
    seed: plan.seed,
    violation: simulation.violation,
    digest: world.digest,
    virtualMs: Math.round(world.nowUs / 1000),
    events: world.events,
    faults: plan.faults.length,
    grants: witness.grants,
    lost: network.lost,
    doubled: network.doubled,
    refusedWrites: register.refused,
    trace: world.trace ?? [],
  }
}

async function play(simulation: Simulation): Promise<void> {
  const { world, plan, fibers } = simulation
  const clients: Client[] = []
  for (const each of plan.clients) clients.push(new Client(simulation, each, clients))
  simulation.writer = clients.findLast((client) => client.plan.fibers.length > 0) ?? null
  for (const client of clients) world.schedule(0, () => client.start(), false)
  for (const fault of plan.faults) {
    world.schedule(fault.atMs * 1000, () => strike(simulation, clients, fault), fault.kind !== 'kill')
  }
  await world.run(plan.healAtMs * 1000)
  simulation.heal()
  const servedByUs = (plan.healAtMs + plan.boundMs + LAST_CALLS_MS) * 1000
  await world.run(servedByUs, () => fibers.atWork === 0)
  if (fibers.atWork > 0) simulation.calls.checkAll()
  else await starvation(simulation, clients)
  await closeAll(simulation, clients)
  const lockDelayMs = Math.max(0, ...plan.clients.map((client) => client.lockDelayMs))
  const emptyByUs = Math.max(world.nowUs, (plan.healAtMs + LATEST_MESSAGE_MS) * 1000)
  await world.run(emptyByUs + (plan.longestTtlMs + plan.server.offerMs + lockDelayMs) * 1000)
  for (const { key, holders, queue } of simulation.backend.inUse()) {
    const labels = [...holders, ...queue].map(({ label }) => label)
    simulation.fail('left after close', `${key} is still held or waited for by ${labels.join(', ')}`)
  }
  await world.run(Math.max(world.nowUs, plan.endAtMs * 1000))
  simulation.calls.checkAll()
}

async function closeAll(simulation: Simulation, clients: readonly Client[]): Promise<void> {
  const { world } = simulation
  let open = clients.length
  for (const client of clients) {
    world.schedule(
      world.nowUs,
      () => {
        client.close().then(
          () => open--,
          (error) => simulation.fail('wrong error', `close: ${String(error)}`),
        )
      },
      false,
    )
  }
  await world.run(world.nowUs + CLOSE_MS * 1000, () => open === 0)
  if (open > 0) simulation.fail('not served', `close did not settle for ${open} clients`)
}

function strike(
  { world, network, backend, witness }: Simulation,
  clients: readonly Client[],
  fault: Fault,
): void {
  const untilUs = 'forMs' in fault ? world.nowUs + fault.forMs * 1000 : 0
  const client = 'client' in fault ? clients[fault.client] : undefined
  const node = 'node' in fault ? fault.node : undefined
  const links = backend.links(client?.plan.name ?? '', node)
  world.note(client?.host.name ?? 'server', `fault: ${JSON.stringify(fault)}`)
  switch (fault.kind) {
    case 'pause':
      client?.host.pause(untilUs)
      break
    case 'sleep':
      client?.host.suspend(untilUs, () => witness.woke(client.host))
      break
    case 'kill':
      if (client === undefined || !client.host.alive) return
      client.kill()
      world.schedule(world.nowUs + fault.restartAfterMs * 1000, () => client.restart(), false)
      break
    case 'cut':
      for (const link of links) network.cut(link, fault.direction, untilUs)
      break
    case 'clog':
      for (const link of links) network.clog(link, fault.direction, untilUs)
      break
    case 'lose':
    case 'hold':
    case 'again':
      for (const link of links) {
        const forMs = fault.kind === 'hold' ? fault.forMs : fault.kind === 'again' ? fault.afterMs : 0
        network.target(link, fault.parcel, fault.kind, forMs)
      }
      break
    case 'reset':
      for (const link of links) network.target(link, fault.parcel, 'reset', fault.forMs)
      break
    case 'storm':
      network.storm(fault.linkFaults, untilUs)
      break
    case 'crash':
      backend.crash(untilUs, fault.loss, node)
      break
    case 'freeze':
      backend.freeze(untilUs, node)
      break
    case 'full':
      backend.full?.(untilUs)
      break
    case 'doubt':
      backend.doubt?.(fault.call, fault.member, fault.done)
      break
    case 'jump':
      backend.jump(fault.byMs, node)
      break
    case 'clientJump':
      if (client !== undefined) client.host.wallJumpMs += fault.byMs
      break
  }
}
