import type { Claim } from '../../model/index.ts'
import type { Compare } from './client/requests.ts'
import type { KeyEvent } from './client/responses.ts'
import type { WatchListener } from './client/watcher.ts'
import { type ClaimValue, parseValue } from './format.ts'
import { isNext, stillFits } from './guards.ts'
import type { Obstacle, QueueSnapshot } from './snapshot.ts'

/** Compares that allow a grant without another look; null when a look is necessary. */
export type Guards = readonly Compare[] | null
type Wake = (guards: Guards) => void

/** Returns the watch listener that wakes a claim when its obstacle may be gone. */
export function whenOver(
  obstacle: Exclude<Obstacle, { kind: 'incomplete' }>,
  snapshot: QueueSnapshot,
  claim: Claim,
  order: number,
  wake: Wake,
): WatchListener['changed'] {
  switch (obstacle.kind) {
    case 'key':
      return whenGone(claim, order, wake)
    case 'turn':
      return whenTurned(wake)
    case 'permits':
      return whenFits(obstacle, snapshot, order, wake)
  }
}

/** Behind a holder, the claim is usually next. Behind a waiter that left, there is another waiter. */
function whenGone(claim: Claim, order: number, wake: Wake): WatchListener['changed'] {
  return (events) => {
    const last = events.at(-1)?.previous?.value
    const held = last !== undefined && parseValue<ClaimValue>(last)?.state === 'held'
    wake(held && claim.mode.kind !== 'permits' ? isNext(claim, order) : null)
  }
}

/** Wakes when a waiter holds or is gone. */
function whenTurned(wake: Wake): WatchListener['changed'] {
  return (events) => {
    const isOver = ({ kind, kv }: KeyEvent): boolean =>
      kind === 'delete' || parseValue<ClaimValue>(kv.value)?.state !== 'waiting'
    if (events.some(isOver)) wake(null)
  }
}

/** Adds up the remaining permits before a claim, and wakes it when enough are free. */
function whenFits(
  { weights, spare }: Obstacle & { kind: 'permits' },
  snapshot: QueueSnapshot,
  order: number,
  wake: Wake,
): WatchListener['changed'] {
  const left = new Map(weights)
  let used = [...left.values()].reduce((sum, weight) => sum + weight, 0)
  return (events) => {
    for (const { kv } of events) {
      used -= left.get(kv.key) ?? 0
      left.delete(kv.key)
    }
    if (used <= spare) wake(stillFits(snapshot, order))
  }
}
