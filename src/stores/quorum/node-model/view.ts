import { viewOf } from '../../../model/index.ts'
import type { NodeView } from '../protocol.ts'
import type { NodeState } from './state.ts'

export function nodeView(key: string, state: NodeState, nowMs: number): NodeView {
  return {
    view: viewOf(key, state, nowMs),
    holderIds: state.holds.flatMap(({ members }) => members.map(({ id }) => id)),
    waiterIds: state.queue.map(({ claim }) => claim.id),
  }
}
