import type { Claim, Hold, KeyState, Member, Mode, QueuedClaim } from '../../model/index.ts'
import { pairsOf } from './clients/client.ts'
import type { ClaimText } from './codec.ts'

/** A key as read.lua shows it. */
export type RawLock = readonly [
  fields: readonly string[],
  holders: readonly string[],
  holdersEnds: readonly string[],
  waiters: readonly string[],
  waitersEnds: readonly string[],
  owners: readonly string[],
]

interface HolderText extends ClaimText {
  readonly since: number
  readonly seq: string
}

interface OwnerText {
  readonly seq: string
  readonly weight: number
}

/** True if there may be more holders or waiters than the `most` of each that a call shows. */
export function isPartial([, holders, , waiters]: RawLock, most: number): boolean {
  return holders.length === most || waiters.length === most
}

/** Joins the answers of several calls. A claim that comes and goes meanwhile is shown once. */
export function joinedPages(first: RawLock, next: RawLock): RawLock {
  const [, ...before] = first
  const [fields, ...after] = next
  return [fields, ...before.map((part, index) => [...part, ...(after[index] ?? [])])] as unknown as RawLock
}

/** The state of a key for the model. Redis itself expires the sequence number, so its end is unknown. */
export function lockStateOf(key: string, raw: RawLock): KeyState {
  const fields = new Map([...pairsOf(raw[0])].map(([name, value]) => [name, String(value)]))
  return {
    seq: Number(fields.get('seq') ?? 0),
    seqKeptUntilMs: 0,
    closedUntilMs: Number(fields.get('closed') ?? 0),
    holds: fields.has('id') ? [soleOf(fields)] : holdsOf(fields, raw),
    queue: waitersOf(key, raw),
  }
}

function soleOf(fields: ReadonlyMap<string, string>): Hold {
  const text = Object.fromEntries(fields)
  const numbers = { since: Number(text.since), delay: Number(text.delay ?? 0) }
  const member = memberOf({ ...text, ...numbers } as unknown as HolderText, Number(text.expires))
  return { owner: null, mode: { kind: 'exclusive' }, seq: Number(text.seq), members: [member] }
}

function holdsOf(fields: ReadonlyMap<string, string>, [, texts, ends, , , owners]: RawLock): Hold[] {
  const kind = fields.get('mode') as Mode['kind']
  const limit = Number(fields.get('limit'))
  const shared = new Map([...pairsOf(owners)].map(([owner, text]) => [owner, JSON.parse(String(text))]))
  const holds = new Map<string, Hold & { members: Member[] }>()
  for (const [id, { text, end }] of byId<HolderText>(texts, ends)) {
    const own = text.owner === undefined ? undefined : (shared.get(text.owner) as OwnerText | undefined)
    const name = own === undefined ? `claim ${id}` : `owner ${text.owner}`
    const weight = own?.weight ?? text.weight ?? 1
    const mode: Mode = kind === 'permits' ? { kind, limit, weight } : { kind }
    const hold = holds.get(name) ?? {
      owner: text.owner ?? null,
      mode,
      seq: Number(own?.seq ?? text.seq),
      members: [],
    }
    hold.members.push(memberOf(text, end))
    holds.set(name, hold)
  }
  return [...holds.values()].sort((a, b) => a.seq - b.seq)
}

function memberOf({ id, inbox, label, actor, meta, delay, since }: HolderText, expiresAtMs: number): Member {
  return {
    id,
    expiresAtMs,
    sinceMs: since,
    label,
    actor: actor ?? null,
    meta: meta ?? null,
    lockDelayMs: delay ?? 0,
    inbox,
  }
}

function waitersOf(key: string, [, , , texts, ends]: RawLock): QueuedClaim[] {
  return [...byId<ClaimText & { joined: number }>(texts, ends).values()].map(({ text, end }) => ({
    claim: storedClaim(key, text.id, text),
    inbox: text.inbox,
    joinedAtMs: text.joined,
    expiresAtMs: end,
  }))
}

function byId<T extends ClaimText>(texts: readonly string[], ends: readonly string[]) {
  const found = new Map<string, { text: T; end: number }>()
  for (const [index, each] of texts.entries()) {
    const text = JSON.parse(each) as T
    if (text.id !== undefined) found.set(text.id, { text, end: Number(ends[index]) })
  }
  return found
}

/** The claim of a stored text; the quorum stores claims in the same form. */
export function storedClaim(key: string, id: string, text: Omit<ClaimText, 'id'>): Claim {
  const { mode: kind, limit = 0, weight = 1 } = text
  return {
    key,
    id,
    mode: kind === 'permits' ? { kind, limit, weight } : { kind },
    ttlMs: text.ttl,
    queue: text.queue ?? false,
    owner: text.owner ?? null,
    actor: text.actor ?? null,
    label: text.label,
    meta: text.meta ?? null,
    lockDelayMs: text.delay ?? 0,
    group: text.group ?? null,
    replaces: text.replaces ?? null,
  }
}
