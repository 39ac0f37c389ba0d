import type { Hold, KeyState, Member, Waiter } from '../../model/index.ts'
import { claimOfText, modeOf } from './codec.ts'

type RawMember = readonly [expires: number, since: number, tail: string]
type RawHold = readonly [
  owner: string | null,
  kind: string,
  limit: number,
  weight: number,
  seq: number,
  members: readonly RawMember[],
]
type RawWaiter = readonly [expires: number, joined: number, argument: string]
/** A key as read.lua shows it. */
export type RawState = readonly [
  seq: number,
  closed: number,
  holds: readonly RawHold[],
  line: readonly RawWaiter[],
]

/** The state of a key in the words of the model. Redis itself forgets the sequence number, so its end is not known. */
export function stateOf(key: string, [seq, closed, holds, line]: RawState): KeyState {
  return {
    seq: Number(seq),
    seqKeptUntilMs: 0,
    closedUntilMs: Number(closed),
    holds: holds.map(holdOf),
    line: line.map((waiter) => waiterOf(key, waiter)),
  }
}

function holdOf([owner, kind, limit, weight, seq, members]: RawHold): Hold {
  const mode = modeOf(kind, Number(limit), Number(weight))
  return { owner: owner ?? null, mode, seq: Number(seq), members: members.map(memberOf) }
}

function memberOf([expires, since, tail]: RawMember): Member {
  const [id = '', inbox = '', label = '', actor = '', meta = '', delay = '0'] = tail.split('\0')
  return {
    id,
    expiresAtMs: Number(expires),
    sinceMs: Number(since),
    label,
    actor: actor || null,
    meta: meta || null,
    lockDelayMs: Number(delay),
    inbox,
  }
}

function waiterOf(key: string, [expires, joined, argument]: RawWaiter): Waiter {
  const { claim, inbox } = claimOfText(key, argument)
  return { claim, inbox, joinedAtMs: Number(joined), expiresAtMs: Number(expires) }
}
