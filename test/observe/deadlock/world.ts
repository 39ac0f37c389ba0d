import fc from 'fast-check'
import { EMPTY, type KeyState, type Mode, step } from '../../../src/model/index.ts'
import type { Graph, GraphLock, GraphWait } from '../../../src/observe/deadlock/graph.ts'
import { claimOf } from '../../model/arbitraries.ts'

const RULES = { offerMs: 1000, keepSeqMs: 0, mostOffers: Number.POSITIVE_INFINITY }
const CLOCK = { nowMs: 0, stampUs: 0 }

/** Actors and their keys, one after the other, each taken while holding the ones before. */
export interface Wish {
  readonly actor: number
  readonly key: string
  readonly mode: Mode
}

const PERMITS = 3

/** Locks and semaphores; a key is always used as the same of both. */
export const wishes: fc.Arbitrary<readonly Wish[]> = fc
  .array(
    fc.record({
      actor: fc.nat(4),
      key: fc.constantFrom('a', 'b', 'c', 's', 't'),
      kind: fc.constantFrom('exclusive' as const, 'shared' as const),
      weight: fc.integer({ min: 1, max: PERMITS }),
    }),
    { maxLength: 18 },
  )
  .map((all) =>
    all.map(({ actor, key, kind, weight }): Wish => {
      const mode: Mode = key < 's' ? { kind } : { kind: 'permits', limit: PERMITS, weight }
      return { actor, key, mode }
    }),
  )

/** Actors and keys as the model has them: an actor that is blocked asks for nothing more. */
export class ModelWorld {
  private readonly states = new Map<string, KeyState>()
  private readonly claims = new Map<number, { key: string; id: string }[]>()
  private readonly blocked = new Map<number, { key: string; id: string; mode: Mode }>()
  private lastId = 0

  ask({ actor, key, mode }: Wish): void {
    if (this.blocked.has(actor)) return
    const id = `${actor}/${++this.lastId}`
    const claim = claimOf(id, { key, mode, queue: true, ttlMs: 1000 })
    const { state, answer } = step(this.stateOf(key), { kind: 'claim', claim, inbox: null }, CLOCK, RULES)
    this.states.set(key, state)
    if (answer.kind === 'granted') this.claimsOf(actor).push({ key, id })
    else if (answer.kind === 'blocked') this.blocked.set(actor, { key, id, mode })
  }

  /** A detector's view of it. */
  graph(): Graph {
    const locks = new Map<string, GraphLock>()
    const waits = new Map<string, GraphWait>()
    for (const [key, { holds, queue }] of this.states) {
      locks.set(key, {
        holds: holds.map(({ seq, mode, members }) => ({
          id: `${key} ${seq} ${members[0]?.id}`,
          mode,
          claims: members.map(({ id }) => {
            const wait = this.blocked.get(actorOf(id))
            return wait === undefined ? [] : [wait.id]
          }),
        })),
        queue: queue.map(({ claim }) => ({ id: claim.id, mode: claim.mode })),
      })
      for (const [place, { claim }] of queue.entries())
        waits.set(claim.id, { id: claim.id, key, mode: claim.mode, positions: [place] })
    }
    return { locks, waits }
  }

  /** Lets everybody who can finish do so and give everything back, until nobody can; who is left? */
  leftover(): string[] {
    for (let goesOn = true; goesOn; ) {
      goesOn = false
      for (const [actor, claims] of this.claims) {
        if (this.blocked.has(actor) || claims.length === 0) continue
        goesOn = true
        for (const { key, id } of claims.splice(0)) this.release(key, id)
      }
    }
    return [...this.blocked.values()].map(({ id }) => id).sort()
  }

  private release(key: string, id: string): void {
    const { state, notifications: letters } = step(this.stateOf(key), { kind: 'release', id }, CLOCK, RULES)
    this.states.set(key, state)
    for (const { notice } of letters) {
      if (notice.kind !== 'granted') continue
      const actor = actorOf(notice.id)
      this.blocked.delete(actor)
      this.claimsOf(actor).push({ key, id: notice.id })
    }
  }

  private stateOf(key: string): KeyState {
    return this.states.get(key) ?? EMPTY
  }

  private claimsOf(actor: number): { key: string; id: string }[] {
    const claims = this.claims.get(actor) ?? []
    this.claims.set(actor, claims)
    return claims
  }
}

function actorOf(id: string): number {
  return Number(id.split('/')[0])
}
