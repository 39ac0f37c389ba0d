import type { Clock } from '../../../src/model/index.ts'
import { answer, evictHolders } from '../../../src/stores/quorum/node-model/answer.ts'
import {
  type AddressedNotification,
  type NodeState,
  UNKNOWN_KEY,
} from '../../../src/stores/quorum/node-model/state.ts'
import type { Vote } from '../../../src/stores/quorum/protocol.ts'
import type { Happening } from './twin.ts'

/** The effect of a happening according to the model; changes `states`. */
export function meant(states: Map<string, NodeState>, happening: Happening, clock: Clock) {
  const votes: Vote[] = []
  const notifications: AddressedNotification[] = []
  if (happening.kind === 'evict') {
    const { key, ids, ask } = happening
    const outcome = evictHolders(key, states.get(key) ?? UNKNOWN_KEY, ids, ask, clock)
    states.set(key, outcome.state)
    return { votes, notifications: outcome.notifications }
  }
  for (const question of happening.questions) {
    const { key } = question.claim
    const calledBefore = notifications.filter(({ notification }) => notification.kind === 'free').length
    const outcome = answer(states.get(key) ?? UNKNOWN_KEY, question, clock, calledBefore)
    states.set(key, outcome.state)
    votes.push(outcome.vote)
    notifications.push(...outcome.notifications)
  }
  return { votes, notifications }
}

/** The part of a model state that the server stores: nothing expired, no expiry of the sequence number, holds by id. */
export function kept(state: NodeState = UNKNOWN_KEY, { nowMs }: Clock): NodeState {
  const holds = state.holds
    .map((hold) => ({ ...hold, members: [...hold.members].sort(byId) }))
    .sort((a, b) => byId(a.members[0], b.members[0]))
  const closedUntilMs = state.closedUntilMs > nowMs ? state.closedUntilMs : 0
  return { ...state, holds, closedUntilMs, seqKeptUntilMs: 0 }
}

function byId(a: { readonly id: string } | undefined, b: { readonly id: string } | undefined): number {
  return (a?.id ?? '') < (b?.id ?? '') ? -1 : 1
}
