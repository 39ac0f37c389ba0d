import { type Claim, EMPTY, fits, type KeyState } from '../../model/index.ts'
import { parseClaimName } from './names.ts'
import { type Entry, entryOf, holdKey, type Shut, shutOf } from './snapshot.ts'
import type { KeyValue } from './wire/responses.ts'

/** Everything about one key, in order: for operators, never on the way of a claim. */
export interface WholeKey {
  readonly key: string
  /** Claims of one owner that share a hold stand together. */
  readonly holds: readonly (readonly Entry[])[]
  readonly waiting: readonly Entry[]
  readonly closedBy: Shut | null
  /** There are claims in another format beside these. */
  readonly strange: boolean
}

export function wholeKeyOf(key: string, kvs: readonly KeyValue[]): WholeKey {
  const entries: Entry[] = []
  const shuts: Shut[] = []
  for (const kv of kvs) {
    const { place } = parseClaimName(kv.key)
    if (place === 'shut') shuts.push(shutOf(kv))
    else if (place !== 'wait') entries.push(entryOf(kv))
  }
  entries.sort((one, other) => one.order - other.order)
  const holds = new Map<string, Entry[]>()
  const admit = (entry: Entry): void => {
    const name = holdKey(entry)
    holds.set(name, [...(holds.get(name) ?? []), entry])
  }
  for (const entry of entries) if (entry.value.state === 'held') admit(entry)
  const names = new Set(entries.map(({ name }) => name))
  const closedBy = shuts.find(({ claim }) => !names.has(claim)) ?? null
  const waiting: Entry[] = []
  for (const entry of entries) {
    const { state, queue } = entry.value
    if (state === 'held') continue
    const held = [...holds.values()].map((members) => holdOf(members))
    const comes = state === 'trying' && waiting.length === 0 && closedBy === null && fits(entry.mode, held)
    if (comes) admit(entry)
    else if (state === 'waiting' || queue === true) waiting.push(entry)
  }
  const ordered = [...holds.values()].sort(([one], [other]) => (one?.seq ?? 0) - (other?.seq ?? 0))
  const known = ordered.filter((members) => !members.some(isStrange))
  return { key, holds: known, waiting, closedBy, strange: known.length < ordered.length }
}

function isStrange({ value }: Entry): boolean {
  return value.inbox === ''
}

/** The same in the words of the model. Nothing is known about expiry unless it is told. */
export function stateOf(
  { holds, waiting }: WholeKey,
  expiresAtMs: (entry: Entry) => number = () => 0,
  wallMs = Number.POSITIVE_INFINITY,
): KeyState {
  const held = holds.map((members) => holdOf(members, expiresAtMs, wallMs))
  const line = waiting.map((entry) => ({
    claim: claimOf(entry),
    inbox: entry.value.inbox,
    joinedAtMs: Math.min(entry.value.sinceMs, wallMs),
    expiresAtMs: expiresAtMs(entry),
  }))
  return { ...EMPTY, holds: held, queue: line, seq: Math.max(0, ...held.map(({ seq }) => seq)) }
}

function holdOf(
  members: readonly Entry[],
  expiresAtMs: (entry: Entry) => number = () => 0,
  wallMs = Number.POSITIVE_INFINITY,
): KeyState['holds'][number] {
  const [{ mode, seq, value }] = members as readonly [Entry]
  return {
    owner: value.owner ?? null,
    mode,
    seq,
    members: members.map((entry) => ({
      id: entry.id,
      expiresAtMs: expiresAtMs(entry),
      // The clock of another machine may be ahead of ours.
      sinceMs: Math.min(entry.value.sinceMs, wallMs),
      label: entry.value.label,
      actor: entry.value.actor ?? null,
      meta: entry.value.meta ?? null,
      lockDelayMs: entry.value.lockDelayMs ?? 0,
      inbox: entry.value.inbox,
    })),
  }
}

function claimOf({ id, key, mode, value }: Entry): Claim {
  const { ttlMs, label, owner = null, actor = null, meta = null, lockDelayMs = 0 } = value
  return {
    key,
    id,
    mode,
    ttlMs,
    queue: true,
    owner,
    actor,
    label,
    meta,
    lockDelayMs,
    group: null,
    replaces: null,
  }
}
