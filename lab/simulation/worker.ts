import { parentPort } from 'node:worker_threads'
import { generate } from './generate.ts'
import type { Plan } from './plan.ts'
import { generateQuorum } from './quorum/generate.ts'
import { type Report, run } from './run.ts'
import { shrink } from './shrink.ts'
import type { Invariant } from './violation.ts'

/** A plan is given whole, or by its seed: over one server, or over several that vote. */
export type PlanOrSeed = Plan | number | { readonly quorumSeed: number }

/** Orders to a worker. */
export type Task =
  | { readonly kind: 'run'; readonly plan: PlanOrSeed; readonly tracing: boolean }
  | { readonly kind: 'shrink'; readonly plan: PlanOrSeed; readonly invariant: Invariant }

export type Result<T extends Task> = T extends { kind: 'run' } ? Report : Plan

const port = parentPort
port?.on('message', (task: Task) => {
  perform(task).then(
    (result) => port.postMessage({ result }),
    (error) =>
      port.postMessage({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})

function perform(task: Task): Promise<Report | Plan> {
  // Errors are part of a run's daily life, and their stacks cost more than the rest of it.
  Error.stackTraceLimit = task.kind === 'run' && task.tracing ? 10 : 0
  const plan = planOf(task.plan)
  return task.kind === 'run' ? run(plan, task.tracing) : shrink(plan, task.invariant)
}

function planOf(plan: PlanOrSeed): Plan {
  if (typeof plan === 'number') return generate(plan)
  return 'quorumSeed' in plan ? generateQuorum(plan.quorumSeed) : plan
}
