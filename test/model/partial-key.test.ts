import { expect, it } from 'vitest'
import {
  type Claim,
  changesOf,
  EMPTY,
  type Event,
  type HeldClaim,
  heldClaims,
  type KeyState,
  type Mode,
  type QueuedClaim,
  type Rules,
  stateOfPartialKey,
  step,
} from '../../src/model/index.ts'

const RULES: Rules = { offerMs: 20, keepSeqMs: 1000, mostOffers: 3 }
/** A token that no hold has: an eviction of it counts the time of a key, and no more is loaded for it. */
const NOBODY = 0n
const OWNERS = [null, null, null, 'a', 'b']
const MODES: readonly Mode[][] = [
  [{ kind: 'exclusive' }, { kind: 'shared' }],
  [1, 2, 3].map((weight) => ({ kind: 'permits', limit: 4, weight })),
]

function random(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 12)) >>> 0) % below
  }
}

/** The rows that a store with a row per claim would load: as few as the contract of a partial key allows. */
function excerptOf(state: KeyState, event: Event, nowMs: number, heads: number): KeyState {
  const all = [...heldClaims(state).values()]
  const ids =
    event.kind === 'claim' ? [event.claim.id, event.claim.replaces] : 'id' in event ? [event.id] : []
  const dead = all.filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
  const alive = all.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
  const owners = new Set([
    ...(event.kind === 'claim' ? [event.claim.owner] : []),
    ...[...dead, ...all.filter(({ id }) => ids.includes(id))].map(({ owner }) => owner),
  ])
  const living = state.queue.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
  const head = living.slice(0, heads)
  for (const { claim } of head) owners.add(claim.owner)
  owners.delete(null)
  const told = alive.sort((a, b) => a.expiresAtMs - b.expiresAtMs).slice(0, state.queue.length === 0 ? 32 : 1)
  const isWhole = (event.kind === 'evict' || event.kind === 'revoke') && event.token !== NOBODY
  const wanted = (claim: HeldClaim) =>
    isWhole ||
    dead.includes(claim) ||
    told.includes(claim) ||
    ids.includes(claim.id) ||
    owners.has(claim.owner)
  const queued = (waiter: QueuedClaim) =>
    isWhole ||
    head.includes(waiter) ||
    !living.includes(waiter) ||
    ids.includes(waiter.claim.id) ||
    owners.has(waiter.claim.owner)
  return stateOfPartialKey({
    seq: state.seq,
    seqKeptUntilMs: state.seqKeptUntilMs,
    closedUntilMs: state.closedUntilMs,
    mode: state.holds[0]?.mode ?? null,
    holds: state.holds.length,
    used: state.holds.reduce((sum, { mode }) => sum + (mode.kind === 'permits' ? mode.weight : 0), 0),
    held: all.filter(wanted),
    queue: state.queue.filter(queued),
    unseen: new Set(),
  })
}

/** An answer without what depends on claims that are not loaded. */
function essence(answer: object | null) {
  if (answer === null) return null
  const { position, retryAfterMs, holder, labels, ...rest } = answer as Record<string, unknown>
  return { ...rest, waits: position === undefined ? null : position !== 0 }
}

/** Claims by their ids, however they are grouped and ordered. */
function rowsOf(state: KeyState) {
  const held = [...heldClaims(state)].sort(([a], [b]) => (a < b ? -1 : 1))
  return { held, queue: state.queue.map(({ claim, expiresAtMs }) => [claim.id, expiresAtMs]) }
}

it('a step on an excerpt changes what a step on the whole key changes', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const pick = random(seed)
    const modes = MODES[seed % MODES.length] as readonly Mode[]
    let state: KeyState = EMPTY
    let nowMs = 1000
    let made = 0
    for (let turn = 0; turn < 60; turn++) {
      nowMs += pick(4) === 0 ? pick(60) : 1
      const ids = [...heldClaims(state).keys(), ...state.queue.map(({ claim }) => claim.id)]
      const id = ids.length > 0 && pick(3) > 0 ? (ids[pick(ids.length)] as string) : `${made++}`
      const known = state.queue.find(({ claim }) => claim.id === id)?.claim
      const claim: Claim = known ?? {
        key: 'key',
        id,
        mode: modes[pick(modes.length)] as Mode,
        ttlMs: 30 + pick(100),
        queue: pick(4) > 0,
        owner: OWNERS[pick(OWNERS.length)] as string | null,
        actor: null,
        label: id,
        meta: null,
        lockDelayMs: pick(9) === 0 ? 15 : 0,
        group: null,
        replaces: ids.length > 0 && pick(9) === 0 ? (ids[pick(ids.length)] as string) : null,
      }
      const events: Event[] = [
        { kind: 'claim', claim, inbox: 'inbox' },
        { kind: 'claim', claim: { ...claim, id: `${made++}`, replaces: null }, inbox: 'inbox' },
        { kind: 'renew', id, ttlMs: 50 },
        { kind: 'release', id },
        { kind: 'tick' },
        { kind: 'evict', token: null },
        { kind: 'evict', token: NOBODY },
      ]
      const event = events[pick(pick(8) === 0 ? 7 : 5)] as Event
      const clock = { nowMs, stampUs: nowMs * 1000 }
      const whole = step(state, event, clock, RULES)
      const before = excerptOf(state, event, nowMs, RULES.mostOffers + 1)
      const part = step(before, event, clock, RULES)
      const changes = changesOf(before, part.state)
      const told = `seed ${seed}, turn ${turn}, ${event.kind}`
      expect(essence(part.answer), told).toEqual(essence(whole.answer))
      const gone = new Set(changes.gone)
      const held = heldClaims(state)
      for (const one of changes.gone) held.delete(one)
      for (const { claim: one } of changes.queued) held.delete(one.id)
      for (const one of changes.held) held.set(one.id, one)
      const queued = new Map(changes.queued.map((waiter) => [waiter.claim.id, waiter]))
      // A dead waiter that comes back with its id stands at the end.
      const stays = (waiter: QueuedClaim) =>
        state.queue.some(
          ({ claim: { id }, joinedAtMs }) => id === waiter.claim.id && joinedAtMs === waiter.joinedAtMs,
        )
      const joined = changes.queued.filter((waiter) => !stays(waiter))
      const left = new Set([...gone, ...held.keys(), ...joined.map(({ claim }) => claim.id)])
      const line = state.queue
        .filter(({ claim }) => !left.has(claim.id))
        .map((waiter) => queued.get(waiter.claim.id) ?? waiter)
      line.push(...joined)
      const expected = rowsOf(whole.state)
      expect(
        [...held].sort(([a], [b]) => (a < b ? -1 : 1)),
        told,
      ).toEqual(expected.held)
      expect(
        line.map((waiter) => [waiter.claim.id, waiter.expiresAtMs]),
        told,
      ).toEqual(expected.queue)
      expect(state.holds.length + changes.holds, told).toBe(whole.state.holds.length)
      expect(state.queue.length + changes.waiting, told).toBe(whole.state.queue.length)
      expect(part.state.closedUntilMs, told).toBe(whole.state.closedUntilMs)
      // Contention is a hint: holders that are not loaded learn of it from their next renewal.
      const sent = ({ notifications }: typeof part) =>
        notifications.filter(({ notice }) => notice.kind !== 'contended').length
      expect(sent(part), told).toBe(sent(whole))
      state = whole.state
    }
  }
})
