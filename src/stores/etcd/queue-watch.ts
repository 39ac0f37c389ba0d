import type { Claim } from '../../model/index.ts'
import type { WatchListener } from './client/watcher.ts'
import { isNext, stillFits } from './guards.ts'
import type { Obstacle, Snapshot } from './snapshot.ts'
import { type ClaimValue, parseValue } from './format.ts'
import type { Compare } from './client/requests.ts'
import type { WatchEvent } from './client/responses.ts'

/** What makes it right to become a hold without another look, if it is true; null when only a look can tell. */
export type Guards = readonly Compare[] | null
type Wake = (guards: Guards) => void

/** Wakes a claim when what stands between it and its key may be gone. */
export function whenOver(
  obstacle: Exclude<Obstacle, { kind: 'rush' }>,
  snapshot: Snapshot,
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

/** After a holder, the claim behind it is mostly next. After a waiter that left, another one is before it. */
function whenGone(claim: Claim, order: number, wake: Wake): WatchListener['changed'] {
  return (events) => {
    const last = events.at(-1)?.previous?.value
    const held = last !== undefined && parseValue<ClaimValue>(last)?.state === 'held'
    wake(held && claim.mode.kind !== 'permits' ? isNext(claim, order) : null)
  }
}

/** When a claim that waited holds, or is not there any more. */
function whenTurned(wake: Wake): WatchListener['changed'] {
  return (events) => {
    const isOver = ({ kind, kv }: WatchEvent): boolean =>
      kind === 'delete' || parseValue<ClaimValue>(kv.value)?.state !== 'waiting'
    if (events.some(isOver)) wake(null)
  }
}

/** Adds up what is left of those before a claim for permits: it does not look before there is enough for it. */
function whenFits(
  { weights, spare }: Obstacle & { kind: 'permits' },
  snapshot: Snapshot,
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
