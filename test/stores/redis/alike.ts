import { isDeepStrictEqual } from 'node:util'
import type { Blocked, Hold, KeyState } from '../../../src/model/index.ts'

interface Found {
  readonly answers: readonly unknown[]
  readonly notifications: readonly object[]
  readonly states: readonly KeyState[]
}

/**
 * The effect of Redis, adapted to the model wherever the contract leaves a choice: which holder a blocked claim hears of,
 * in which order several processes are told, and a `retryAfterMs` that comes before its time because a position further
 * back ends then. Anything else stays as it is, and so differs.
 */
export function alike(
  found: Found,
  expected: Found,
  nowMs: number,
  grouped: readonly { label: string }[] = [],
): Found {
  const ends = expected.states.flatMap((state) => endsOf(state))
  // A group that is given up may have been granted some of its keys in between.
  const inGroups = grouped.map(({ label }) => ({ label, heldMs: 0 }))
  const holders = [...inGroups, ...expected.states.flatMap(({ holds }) => labelsOf(holds, nowMs))]
  const answers = found.answers.map((answer, place) =>
    answerAs(
      answer as Blocked,
      expected.answers[place] as Blocked,
      holders,
      (afterMs) => inGroups.length > 0 || ends.includes(nowMs + afterMs),
    ),
  )
  return {
    answers,
    notifications: inOrder(found.notifications),
    states: found.states.map(stateInOrder),
  }
}

export function ordered({ answers, notifications, states }: Found): Found {
  return {
    answers: answers.map(inOrderOf),
    notifications: inOrder(notifications),
    states: states.map(stateInOrder),
  }
}

function answerAs(
  answer: Blocked,
  model: Blocked,
  holders: readonly object[],
  isEnd: (afterMs: number) => boolean,
): unknown {
  if (answer?.kind !== 'blocked' || model?.kind !== 'blocked') return inOrderOf(answer)
  const { retryAfterMs } = answer
  const latestMs = model.retryAfterMs ?? Number.POSITIVE_INFINITY
  const isSoon = retryAfterMs !== null && retryAfterMs >= 1 && retryAfterMs <= latestMs && isEnd(retryAfterMs)
  const isHolder = holders.some((holder) => isDeepStrictEqual(holder, answer.holder))
  return {
    ...answer,
    retryAfterMs: isSoon ? model.retryAfterMs : retryAfterMs,
    holder: isHolder ? model.holder : answer.holder,
  }
}

/** The labels of an eviction. */
function inOrderOf(answer: unknown): unknown {
  const labels = (answer as { labels?: readonly string[] } | null)?.labels
  return labels === undefined ? answer : { ...(answer as object), labels: [...labels].sort() }
}

function endsOf({ holds, queue, closedUntilMs }: KeyState): number[] {
  const members = holds.flatMap((hold) => hold.members)
  return [closedUntilMs, ...[...members, ...queue].map(({ expiresAtMs }) => expiresAtMs)]
}

function labelsOf(holds: readonly Hold[], nowMs: number): object[] {
  return holds.flatMap(({ members }) =>
    members.map(({ label, sinceMs }) => ({ label, heldMs: nowMs - sinceMs })),
  )
}

function stateInOrder(state: KeyState): KeyState {
  const holds = state.holds.map((hold) => ({ ...hold, members: sorted(hold.members, ({ id }) => id) }))
  return { ...state, holds: sorted(holds, (hold) => hold.members[0]?.id ?? '') }
}

function inOrder(notifications: readonly object[]): object[] {
  return sorted(notifications, (notification) => JSON.stringify(notification, (_, value) => showOf(value)))
}

function showOf(value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}

function sorted<T>(all: readonly T[], nameOf: (one: T) => string): T[] {
  return [...all].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
