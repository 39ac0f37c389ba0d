import { generate } from '../generate.ts'
import type { ClientPlan, Plan, Step } from '../plan.ts'
import { Random } from '../random.ts'
import { quorumFaultsOf } from './faults.ts'
import { strained } from './strain.ts'

const HEAL_AT_MS = 14_000
const END_AT_MS = 24_000
/** The same margin as in the plans for one server. */
const MOST_SKEW_PPM = 4000
const STRAINED_PER_MILLE = 80

/** The plan of a seed over several servers that vote. What a quorum cannot do is left out: adoption and eviction. */
export function generateQuorum(seed: number): Plan {
  const plan = generate(seed)
  const random = new Random(seed, 'quorum')
  const nodes = random.pick([3, 3, 3, 4, 5, 5, 5, 7])
  const lockDelayMs = Math.max(0, ...plan.clients.map((client) => client.lockDelayMs))
  const longestLifeMs = plan.longestTtlMs + lockDelayMs
  const ttlMs = plan.longestTtlMs / 2
  const usual: Plan = {
    ...plan,
    healAtMs: HEAL_AT_MS,
    endAtMs: END_AT_MS,
    // Votes split, and a node that was silent is tried again after a while.
    boundMs: plan.boundMs + longestLifeMs + 6000,
    nodes: Array.from({ length: nodes }, () => ({
      skewPpm: random.whole(-MOST_SKEW_PPM, MOST_SKEW_PPM),
      aheadMs: random.whole(-200, 200),
    })),
    clients: plan.clients.map((client) => possible(client, HEAL_AT_MS / plan.healAtMs)),
    faults: quorumFaultsOf(random, plan.clients.length, nodes, ttlMs, longestLifeMs, HEAL_AT_MS),
  }
  const strain = new Random(seed, 'strain')
  return strain.chance(STRAINED_PER_MILLE) ? strained(usual, strain, MOST_SKEW_PPM) : usual
}

/** As many of the steps as fit into the shorter time, of those that a quorum can do. */
function possible(client: ClientPlan, share: number): ClientPlan {
  const fibers = client.fibers.map((steps) =>
    steps
      .slice(0, Math.ceil(steps.length * share))
      .filter(isPossible)
      .map(withoutGift),
  )
  return { ...client, fibers }
}

function isPossible({ kind }: Step): boolean {
  return kind !== 'evict'
}

function withoutGift(step: Step): Step {
  return step.kind === 'take' && step.twist.kind === 'give' ? { ...step, twist: { kind: 'none' } } : step
}
