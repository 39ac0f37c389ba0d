import type { Claim, Mode } from '../../../model/index.ts'
import type { NodeState, Seat, Voter, Watcher } from '../meaning/state.ts'

type RawVoter = readonly [expires: number, since: number, ballot: number, tail: string]
type RawHold = readonly [
  owner: string | null,
  kind: string,
  limit: number,
  weight: number,
  seq: number,
  voters: readonly RawVoter[],
]
type RawWatcher = readonly [expires: number, joined: number, ticket: number, called: number, text: string]

/** A key as read.lua shows it. */
export type RawState = readonly [
  seq: number,
  closed: number,
  holds: readonly RawHold[],
  line: readonly RawWatcher[],
]

/** The state of a key. The server itself forgets the sequence number, so the end of that is not known. */
export function stateOf(key: string, [seq, closed, holds, line]: RawState): NodeState {
  return {
    seq: Number(seq),
    seqKeptUntilMs: 0,
    closedUntilMs: Number(closed),
    holds: holds.map(seatOf),
    line: line.map((watcher) => watcherOf(key, watcher)),
  }
}

function seatOf([owner, kind, limit, weight, seq, voters]: RawHold): Seat {
  const mode = modeOf(kind, Number(limit), Number(weight))
  return { owner: owner ?? null, mode, seq: Number(seq), members: voters.map(voterOf) }
}

function voterOf([expires, since, ballot, tail]: RawVoter): Voter {
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
    ballot: Number(ballot),
  }
}

function watcherOf(key: string, [expires, joined, ticket, called, text]: RawWatcher): Watcher {
  const { claim, inbox } = claimOf(key, text)
  return {
    claim,
    inbox,
    joinedAtMs: Number(joined),
    expiresAtMs: Number(expires),
    ticket: Number(ticket),
    calledUntilMs: Number(called),
  }
}

/** The claim that a watcher came with: the opposite of `questionText`. */
function claimOf(key: string, text: string): { claim: Claim; inbox: string } {
  const letter = text[0]
  const fields = text.slice(43).split('\0')
  const [id = '', inbox = '', label = '', actor = '', meta = '', delay = '0'] = fields
  const [queue = letter === 'x' ? '1' : '0', kind = 'e', limit = '', weight = '', owner, replaces] =
    letter === 'f' ? fields.slice(6) : []
  const claim: Claim = {
    key,
    id,
    mode: modeOf(kind, Number(limit), Number(weight)),
    ttlMs: Number(text.slice(33, 43)),
    queue: queue === '1',
    owner: owner || null,
    actor: actor || null,
    label,
    meta: meta || null,
    lockDelayMs: Number(delay),
    group: null,
    replaces: replaces || null,
  }
  return { claim, inbox }
}

function modeOf(kind: string, limit: number, weight: number): Mode {
  if (kind === 'p') return { kind: 'permits', limit, weight }
  return { kind: kind === 's' ? 'shared' : 'exclusive' }
}
