import type { Client } from './client.ts'
import { FINAL, POOL_LIMIT } from './finale.ts'
import type { Ask } from './plan.ts'
import type { Simulation } from './simulation.ts'

/** More than all that can hold the key at once, so that somebody always waits in the local queue. */
const BUSY_FIBERS = 6
/** The bounds that the core promises: so many turns of one hold, or its last turn begins that long after others wait. */
const MOST_TURNS = 1 + 5
const HANDOVER_MS = 1000
/** All messages and renewals on the way from the claim to the grant. */
const ON_THE_WAY_MS = 50
const SHORT_MS = 20
const LONG_MS = 400
/** By then the last of the busy fibers had its last turn. */
const LONGEST_MS = 10_000

interface Scenario {
  readonly key: string
  /** The claims of the busy process' fibers, and the behaviour of the other process' waiter. */
  readonly busy: Ask
  readonly waiter: Ask
  readonly holdMs: number
  /** How many turns of the busy process the waiter may have to wait for. */
  readonly mostTurns: number
}

const mutex: Ask = { kind: 'mutex' }
const permit: Ask = { kind: 'permits', limit: POOL_LIMIT, weight: 1 }
const allPermits: Ask = { kind: 'permits', limit: POOL_LIMIT, weight: POOL_LIMIT }

const SCENARIOS: readonly Scenario[] = [
  { key: 'busy mutex', busy: mutex, waiter: mutex, holdMs: SHORT_MS, mostTurns: MOST_TURNS },
  { key: 'busy slow mutex', busy: mutex, waiter: mutex, holdMs: LONG_MS, mostTurns: MOST_TURNS },
  { key: 'busy pool', busy: permit, waiter: allPermits, holdMs: SHORT_MS, mostTurns: MOST_TURNS },
  { key: 'busy slow pool', busy: permit, waiter: allPermits, holdMs: LONG_MS, mostTurns: MOST_TURNS },
  { key: 'busy book', busy: { kind: 'read' }, waiter: { kind: 'write' }, holdMs: SHORT_MS, mostTurns: 1 },
]

/**
 * After the finale, when the network is calm: the local queue of one process never empties, and one waiter of another process
 * stands in the store's queue. It must be served within the bounds of the handover, whatever the mode.
 */
export async function starvation(simulation: Simulation, clients: readonly Client[]): Promise<void> {
  const { world, fibers, plan } = simulation
  // Over a quorum the next holder is the one that wins a race.
  if (plan.nodes !== undefined) return
  const busy = clients.find((client) => client.plan.handover)
  const other = clients.findLast((client) => client !== busy)
  if (busy === undefined || other === undefined) return
  simulation.longestHoldMs = Number.POSITIVE_INFINITY
  for (const scenario of SCENARIOS) begin(simulation, scenario, busy, other)
  await world.run(world.nowUs + LONGEST_MS * 1000, () => fibers.atWork === 0)
}

function begin(simulation: Simulation, scenario: Scenario, busy: Client, other: Client): void {
  const { key, holdMs } = scenario
  let over = false
  for (let index = 0; index < BUSY_FIBERS; index++) {
    busy.run(`${key} ${index}`, async (fiber) => {
      while (!over) await fiber.take({ ...FINAL, key, ask: scenario.busy, holdMs, writes: 0 })
    })
  }
  other.run(key, async (fiber) => {
    await fiber.host.sleep(holdMs / 2)
    const waitMs = boundMs(scenario)
    const served = await fiber.take({ ...FINAL, key, ask: scenario.waiter, holdMs: 1, waitMs, writes: 0 })
    over = true
    if (!served)
      simulation.fail('starved', `${key}: a waiter of another process was not served in ${waitMs} ms`)
  })
}

function boundMs({ holdMs, mostTurns }: Scenario): number {
  return Math.min(mostTurns * holdMs, HANDOVER_MS + holdMs) + ON_THE_WAY_MS
}
