import type { Blocked } from '../../model/index.ts'
import type { Round } from './round.ts'

/** What the nodes that said no tell together. After a split vote the claim is asked for again soon. */
export function blockedOf({ votes, needed }: Round, splitPauseMs: number | null): Blocked {
  const blocks = votes.filter((vote): vote is Blocked => vote?.kind === 'blocked')
  // Where it had a vote for a moment it was first.
  const positions = votes.flatMap((vote) =>
    vote?.kind === 'blocked' ? [vote.position] : vote?.kind === 'granted' ? [1] : [],
  )
  const first = blocks.find(({ holder }) => holder !== null) ?? blocks[0]
  return {
    kind: 'blocked',
    position: blocks.some(({ position }) => position > 0) ? medianPosition(positions) : 0,
    retryAfterMs: splitPauseMs ?? retryAfterMs(blocks, needed),
    storeTimeMs: Math.max(0, ...blocks.map(({ storeTimeMs }) => storeTimeMs)),
    holder: first?.holder ?? null,
  }
}

/** The middle one of what the nodes say: one that has lost its queue must not make everybody first. */
export function medianPosition(positions: readonly number[]): number {
  const known = positions.filter((position) => position > 0).sort((a, b) => a - b)
  return known[(known.length - 1) >> 1] ?? 0
}

/** When enough of the nodes can be free for a majority, if time alone frees them. */
function retryAfterMs(blocks: readonly Blocked[], needed: number): number | null {
  const waits = blocks.map((block) => block.retryAfterMs ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b)
  const enough = waits[Math.min(needed, waits.length) - 1] ?? Number.POSITIVE_INFINITY
  return enough === Number.POSITIVE_INFINITY ? null : enough
}
