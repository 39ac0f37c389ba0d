import { CALM, type ClientPlan, type Plan, type Step } from './plan.ts'
import { run } from './run.ts'
import type { Invariant } from './violation.ts'

/** A list that still fails after shrinking, with every element needed. */
type Check<T> = (smaller: readonly T[]) => Promise<boolean>

const MOST_RUNS = 600

/** Makes a failing plan smaller while it still breaks the same promise: fewer faults, fewer clients, fewer steps. */
export async function shrink(plan: Plan, invariant: Invariant): Promise<Plan> {
  let best = plan
  let runs = 0
  const fails = async (candidate: Plan): Promise<boolean> => {
    if (++runs > MOST_RUNS) return false
    const { violation } = await run(candidate)
    if (violation?.invariant !== invariant) return false
    best = candidate
    return true
  }
  const { violation } = await run(plan)
  if (violation?.invariant !== invariant) return plan
  // Events after the violation cannot have caused it.
  const endMs = Math.ceil(violation.atUs / 1000)
  await fails({ ...best, faults: best.faults.filter((fault) => fault.atMs <= endMs) })
  await fails({ ...best, linkFaults: CALM })
  for (let before = -1; before !== runs && runs <= MOST_RUNS; ) {
    before = runs
    const sizeBefore = sizeOf(best)
    await minimise(best.faults, (faults) => fails({ ...best, faults }))
    for (let client = 0; client < best.clients.length; client++) {
      await fails(withFibers(best, client, () => []))
      await shrinkFibers(best, client, fails, () => best)
    }
    if (sizeOf(best) === sizeBefore) break
  }
  return best
}

async function shrinkFibers(
  plan: Plan,
  client: number,
  fails: (candidate: Plan) => Promise<boolean>,
  best: () => Plan,
): Promise<void> {
  const { length } = plan.clients[client]?.fibers ?? []
  for (let fiber = 0; fiber < length; fiber++) {
    const steps = best().clients[client]?.fibers[fiber]
    if (steps === undefined || steps.length === 0) continue
    // A fiber left without steps stays, so that the others keep their numbers.
    const only = (fewer: readonly Step[]) =>
      withFibers(best(), client, (fibers) => fibers.map((each, index) => (index === fiber ? fewer : each)))
    await minimise(steps, (fewer) => fails(only(fewer)))
  }
}

function withFibers(
  plan: Plan,
  client: number,
  change: (fibers: ClientPlan['fibers']) => ClientPlan['fibers'],
): Plan {
  const clients = plan.clients.map((each, index) =>
    index === client ? { ...each, fibers: change(each.fibers) } : each,
  )
  return { ...plan, clients }
}

function sizeOf({ clients, faults }: Plan): number {
  return (
    faults.length +
    clients.flatMap((client) => client.fibers).reduce((sum, fiber) => sum + 1 + fiber.length, 0)
  )
}

/** Delta debugging: takes away halves, then quarters, down to single elements. */
export async function minimise<T>(items: readonly T[], stillFails: Check<T>): Promise<readonly T[]> {
  let left = items
  if (left.length > 0 && (await stillFails([]))) return []
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length; ) {
      const without = [...left.slice(0, from), ...left.slice(from + size)]
      if (without.length < left.length && (await stillFails(without))) left = without
      else from += size
    }
  }
  return left
}
