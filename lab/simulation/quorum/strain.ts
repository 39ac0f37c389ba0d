import { KEYS } from '../finale.ts'
import type { ClientPlan, NodePlan, Plan, Step } from '../plan.ts'
import type { Random } from '../random.ts'

/**
 * A plan in which the margin for drift is needed: the nodes' clocks are as fast and those of every other client as slow as
 * they may be, and leases of one key are used up to their end while others wait for exactly that. Where clocks and
 * holds are left to chance, a few milliseconds of overlap are seen in hardly one of a thousand seeds.
 */
export function strained(plan: Plan, random: Random, mostSkewPpm: number): Plan {
  const fast = (node: NodePlan): NodePlan => ({ ...node, skewPpm: mostSkewPpm })
  const clients = plan.clients.map((client, index): ClientPlan => {
    const skewPpm = index % 2 === 0 ? -mostSkewPpm : mostSkewPpm
    return {
      ...client,
      skewPpm,
      fibers: client.fibers.map((steps) => steps.map((step) => usedUp(step, random))),
    }
  })
  return { ...plan, clients, ...(plan.nodes !== undefined && { nodes: plan.nodes.map(fast) }) }
}

function usedUp(step: Step, random: Random): Step {
  if (step.kind !== 'take' || random.chance(300)) return step
  return {
    ...step,
    key: KEYS.hot,
    ask: { kind: 'mutex' },
    owner: null,
    thinkMs: random.whole(0, 20),
    holdMs: step.ttlMs + random.whole(0, 100),
    renew: false,
    waitMs: 12_000,
    spinMs: null,
    cancelAfterMs: null,
    obeys: true,
    twist: { kind: 'none' },
  }
}
