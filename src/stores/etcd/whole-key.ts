import { type Claim, EMPTY, fits, type KeyState } from '../../model/index.ts'
import type { KeyValue } from './client/responses.ts'
import { parseClaimName } from './names.ts'
import { type ClaimEntry, entryOf, holdKey, type Shut, shutOf } from './snapshot.ts'

/** Everything about one key, in order: for operators, never on the locking path. */
export interface WholeKey {
  readonly key: string
  /** Claims of one owner that share a hold are in one list. */
  readonly holds: readonly (readonly ClaimEntry[])[]
  readonly waiting: readonly ClaimEntry[]
  readonly closedBy: Shut | null
  /** There are also claims in another format. */
  readonly foreign: boolean
}

export function wholeKeyOf(key: string, kvs: readonly KeyValue[]): WholeKey {
  const entries: ClaimEntry[] = []
  const shuts: Shut[] = []
  for (const kv of kvs) {
    const { section } = parseClaimName(kv.key)
    if (section === 'shut') shuts.push(shutOf(kv))
    else if (section !== 'wait') entries.push(entryOf(kv))
  }
  entries.sort((one, other) => one.order - other.order)
  const holds = new Map<string, ClaimEntry[]>()
  const admit = (entry: ClaimEntry): void => {
    const name = holdKey(entry)
    holds.set(name, [...(holds.get(name) ?? []), entry])
  }
  for (const entry of entries) if (entry.value.state === 'held') admit(entry)
  const names = new Set(entries.map(({ name }) => name))
  const closedBy = shuts.find(({ claim }) => !names.has(claim)) ?? null
  const waiting: ClaimEntry[] = []
  for (const entry of entries) {
    const { state, queue } = entry.value
    if (state === 'held') continue
    const held = [...holds.values()].map((members) => holdOf(members))
    const comes = state === 'trying' && waiting.length === 0 && closedBy === null && fits(entry.mode, held)
    if (comes) admit(entry)
    else if (state === 'waiting' || queue === true) waiting.push(entry)
  }
  const ordered = [...holds.values()].sort(([one], [other]) => (one?.seq ?? 0) - (other?.seq ?? 0))
  const known = ordered.filter((members) => !members.some(isForeign))
  return { key, holds: known, waiting, closedBy, foreign: known.length < ordered.length }
}

function isForeign({ value }: ClaimEntry): boolean {
  return value.inbox === ''
}

/** The key as a state of the model. */
export function keyStateOf(
  { holds, waiting }: WholeKey,
  expiresAtMs: (entry: ClaimEntry) => number = () => 0,
  wallMs = Number.POSITIVE_INFINITY,
): KeyState {
  const held = holds.map((members) => holdOf(members, expiresAtMs, wallMs))
  const queue = waiting.map((entry) => ({
    claim: claimOf(entry),
    inbox: entry.value.inbox,
    joinedAtMs: Math.min(entry.value.sinceMs, wallMs),
    expiresAtMs: expiresAtMs(entry),
  }))
  return { ...EMPTY, holds: held, queue: queue, seq: Math.max(0, ...held.map(({ seq }) => seq)) }
}

function holdOf(
  members: readonly ClaimEntry[],
  expiresAtMs: (entry: ClaimEntry) => number = () => 0,
  wallMs = Number.POSITIVE_INFINITY,
): KeyState['holds'][number] {
  const [{ mode, seq, value }] = members as readonly [ClaimEntry]
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

function claimOf({ id, key, mode, value }: ClaimEntry): Claim {
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
