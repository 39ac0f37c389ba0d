import fc from 'fast-check'
import type { Claim, Clock, Event, Mode, Rules } from '../../../src/model/index.ts'
import { claimOf } from '../../model/arbitraries.ts'

interface Story {
  readonly events: readonly { readonly event: Event; readonly clock: Clock }[]
  readonly rules: Rules
}

const PEOPLE = 200

const modes = fc.constantFrom<fc.Arbitrary<Mode>>(
  fc.constant({ kind: 'exclusive' }),
  fc.constantFrom<Mode>({ kind: 'exclusive' }, { kind: 'shared' }, { kind: 'shared' }),
  fc.constantFrom(1, 1, 1, 3, 5).map((weight) => ({ kind: 'permits', limit: 5, weight })),
)

const person = (mode: fc.Arbitrary<Mode>) =>
  fc.record({
    mode,
    ttlMs: fc.constantFrom(50, 500, 5000),
    owner: fc.constantFrom(null, null, null, 'x', 'y', 'z'),
    lockDelayMs: fc.constantFrom(0, 0, 0, 0, 20),
    queue: fc.constantFrom(true, true, true, true, true, false),
  })

const move = fc.record({
  kind: fc.constantFrom('claim', 'claim', 'renew', 'renew', 'release', 'release', 'release', 'evict', 'tick'),
  who: fc.nat({ max: PEOPLE - 1 }),
  waitMs: fc.constantFrom(0, 0, 0, 1, 7, 60),
} as const)

/** All come at once; then anything happens, mostly to those who came early. Portions are for claims without owners. */
export const crowdedPlan: fc.Arbitrary<Story> = modes.chain((mode) =>
  fc
    .record({
      people: fc.array(person(mode), { minLength: PEOPLE, maxLength: PEOPLE }),
      moves: fc.array(move, { minLength: 60, maxLength: 200, size: 'max' }),
      portion: fc.constantFrom(1, 3, Number.POSITIVE_INFINITY),
    })
    .map(({ people, moves, portion }) => {
      const owned = portion === Number.POSITIVE_INFINITY
      const claims = people.map((fields, n) => claimOf(`p${n}`, owned ? fields : { ...fields, owner: null }))
      const rules: Rules = { offerMs: 40, keepSeqMs: 10_000, mostOffers: portion }
      let nowMs = 1000
      let stampUs = 1_000_000
      const clockAt = (waitMs: number): Clock => {
        nowMs += waitMs
        stampUs += 1 + waitMs
        return { nowMs, stampUs }
      }
      const arrivals = claims.map((claim) => ({ event: claimEvent(claim), clock: clockAt(0) }))
      const rest = moves.map(({ kind, who, waitMs }) => ({
        event: eventOf(kind, claims[who % 4 === 0 ? who : who % 20] as Claim),
        clock: clockAt(waitMs),
      }))
      return { events: [...arrivals, ...rest], rules }
    }),
)

function claimEvent(claim: Claim): Event {
  return { kind: 'claim', claim, inbox: `inbox of ${claim.id}` }
}

function eventOf(kind: string, claim: Claim): Event {
  switch (kind) {
    case 'claim':
      return claimEvent(claim)
    case 'renew':
      return { kind, id: claim.id, ttlMs: claim.ttlMs }
    case 'release':
      return { kind, id: claim.id }
    case 'evict':
      return { kind, token: null }
    default:
      return { kind: 'tick' }
  }
}
