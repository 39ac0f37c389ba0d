import type { DeadlockStep } from '../../errors.ts'
import type { KeyView } from '../../model/index.ts'
import type { WorldView } from './look.ts'
import type { Sight } from './scene.ts'

/** The actor of claims without a name; a caller's name is never empty. */
const UNNAMED = ''

/**
 * A second reading of a look, in which all unnamed claims of one label belong to one actor. A cycle in it may be false: in
 * one process, the task that holds may be another than the one that waits.
 */
export function byLabel(sight: Sight) {
  const isUntold = (actor: string | null): boolean => tellsNothing(actor, sight)
  const named = <C extends { readonly actor: string | null }>(claim: C): C =>
    isUntold(claim.actor) ? { ...claim, actor: UNNAMED } : claim
  const viewOf = (view: KeyView): KeyView => {
    const holding = new Set(view.holders.map(({ label }) => label))
    // A process that waits for its own hold has several tasks: that is no cycle.
    const line = view.queue.filter(({ label, actor }) => !(isUntold(actor) && holding.has(label)))
    return { ...view, holders: view.holders.map(named), queue: line.map(named) }
  }
  return {
    read: (look: WorldView): WorldView => ({
      ...look,
      views: new Map([...look.views].map(([key, view]) => [key, viewOf(view)])),
    }),
    isUnproven: (steps: readonly DeadlockStep[]): boolean => steps.some(({ actor }) => actor === UNNAMED),
    shown: (steps: readonly DeadlockStep[]): DeadlockStep[] =>
      steps.map((step) => (step.actor === UNNAMED ? { ...step, actor: null } : step)),
  }
}

/** True if the other holds and waits of a claim's actor cannot be known. */
function tellsNothing(actor: string | null, { notes }: Sight): boolean {
  return actor === null || (!notes && actor.startsWith('@'))
}
