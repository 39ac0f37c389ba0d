import type { Mode } from '../../../model/index.ts'
import type { ClaimText } from '../../redis/codec.ts'
import { storedClaim } from '../../redis/state.ts'
import type { NodeHold, NodeState, NodeWaiter, Voter } from '../node-model/state.ts'

/** The answer of read.lua for a key: the cursor of the next part, fields and values of the hash, members and scores of the sorted sets. */
export type RawNode = readonly [
  cursor: string,
  hash: readonly string[],
  holders: readonly string[],
  queue: readonly string[],
  called: readonly string[],
  deadlines: readonly string[],
]

/** A stored claim: the text of the codec without the id, and the ticket that the scripts add. */
type Kept = Omit<ClaimText, 'id'> & { readonly weight: number; readonly ticket: string }
type KeptHolder = Kept & { readonly seq: string; readonly ballot: string; readonly since: number }
type KeptWaiter = Kept & { readonly joined: number }
interface KeptOwner {
  readonly seq: string
  readonly weight: number
}

/** Joins the answers of two calls. Of a claim that both show, the later one counts. */
export function joinedParts(first: RawNode, [cursor, ...next]: RawNode): RawNode {
  const [, ...before] = first
  return [cursor, ...before.map((part, index) => [...part, ...(next[index] ?? [])])] as unknown as RawNode
}

/** The state of a key. The server itself expires the sequence number, so its end is unknown. */
export function nodeStateOf(key: string, [, hash, holders, queue, called, deadlines]: RawNode): NodeState {
  const fields = mapOf(hash)
  const ends = mapOf(deadlines)
  const waiters = new Map(
    [...pairsOf(queue, false), ...pairsOf(called, true)].map((each) => [each.member, each]),
  )
  return {
    seq: Number(fields.get('seq') ?? 0),
    seqKeptUntilMs: 0,
    closedUntilMs: Number(fields.get('closed') ?? 0),
    holds: holdsOf(key, fields, mapOf(holders)),
    queue: [...waiters.values()]
      .sort((a, b) => a.score - b.score || (a.member < b.member ? -1 : 1))
      .map(({ member, mark }) => waiterOf(key, member, fields, Number(ends.get(member)), mark)),
  }
}

function holdsOf(key: string, fields: ReadonlyMap<string, string>, ends: ReadonlyMap<string, string>) {
  const kind = (fields.get('mode') ?? 'exclusive') as Mode['kind']
  const limit = Number(fields.get('limit') ?? 0)
  const holds: NodeHold[] = []
  for (const [id, expires] of ends) {
    const kept = JSON.parse(fields.get(`holder:${id}`) ?? '{}') as KeptHolder
    const owner = kept.owner ?? null
    const shared = JSON.parse(fields.get(`owner:${owner ?? ''}`) ?? 'null') as KeptOwner | null
    const voter = voterOf(key, id, kept, Number(expires))
    const at = owner === null ? -1 : holds.findIndex((hold) => hold.owner === owner)
    const joined = holds[at]
    if (joined !== undefined) holds[at] = { ...joined, members: [...joined.members, voter] }
    else {
      const mode = modeOf(kind, limit, (shared ?? kept).weight)
      holds.push({ owner, mode, seq: Number((shared ?? kept).seq), members: [voter] })
    }
  }
  return holds
}

function voterOf(key: string, id: string, kept: KeptHolder, expiresAtMs: number): Voter {
  const claim = storedClaim(key, id, kept)
  const { label, actor, meta, lockDelayMs } = claim
  const { inbox, since, ballot, ticket } = kept
  const member = { id, expiresAtMs, sinceMs: since, label, actor, meta, lockDelayMs, inbox }
  return { ...member, ballot: Number(ballot), ticket: Number(ticket), claim }
}

function waiterOf(
  key: string,
  id: string,
  fields: ReadonlyMap<string, string>,
  expiresAtMs: number,
  called: boolean,
): NodeWaiter {
  const kept = JSON.parse(fields.get(`waiter:${id}`) ?? '{}') as KeptWaiter
  const { inbox, joined, ticket } = kept
  const claim = storedClaim(key, id, kept)
  return { claim, inbox, joinedAtMs: joined, expiresAtMs, ticket: Number(ticket), called }
}

function modeOf(kind: Mode['kind'], limit: number, weight: number): Mode {
  return kind === 'permits' ? { kind, limit, weight } : { kind }
}

function mapOf(flat: readonly string[]): Map<string, string> {
  const map = new Map<string, string>()
  for (let at = 0; at < flat.length; at += 2) map.set(flat[at] as string, flat[at + 1] as string)
  return map
}

function pairsOf(flat: readonly string[], mark: boolean): { member: string; score: number; mark: boolean }[] {
  return [...mapOf(flat)].map(([member, score]) => ({ member, score: Number(score), mark }))
}
